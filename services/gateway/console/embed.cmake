# cmake -DFROM=DIR -DNAMES=a,b -DTO=FILE.cc -P embed.cmake: the bytes of files as ConsoleFiles().
string(REPLACE "," ";" names "${NAMES}")
set(arrays "")
set(list "")
set(number 0)
foreach(name ${names})
  file(READ ${FROM}/${name} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
  string(APPEND arrays "constexpr unsigned char kFile${number}[] = {\n${bytes}\n};\n")
  string(APPEND list "      {\"${name}\", {reinterpret_cast<const char*>(kFile${number}), sizeof(kFile${number})}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${TO} "#include \"services/gateway/console/console_files.h\"
namespace galen::gateway {
namespace {
${arrays}}  // namespace
std::vector<ConsoleFile> ConsoleFiles() {
  return {
${list}  };
}
}  // namespace galen::gateway
")
