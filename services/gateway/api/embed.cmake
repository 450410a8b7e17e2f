# cmake -DFROM=FILE -DTO=FILE.cc -P embed.cmake: the bytes of a file as PublicApiDescriptors().
file(READ ${FROM} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE ${TO} "#include \"services/gateway/api/openapi.h\"
namespace galen::gateway {
namespace {
constexpr unsigned char kBytes[] = {
${bytes}
};
}  // namespace
absl::string_view PublicApiDescriptors() { return {reinterpret_cast<const char*>(kBytes), sizeof(kBytes)}; }
}  // namespace galen::gateway
")
