# cmake -DFROM=FILE -DTO=FILE.cc -DHEADER=H -DNAMESPACE=N -DFUNCTION=F -P embed.cmake: the bytes of a file as N::F(), which H declares.
file(READ ${FROM} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE ${TO} "#include \"${HEADER}\"
namespace ${NAMESPACE} {
namespace {
constexpr unsigned char kBytesOf${FUNCTION}[] = {
${bytes}
};
}  // namespace
absl::string_view ${FUNCTION}() { return {reinterpret_cast<const char*>(kBytesOf${FUNCTION}), sizeof(kBytesOf${FUNCTION})}; }
}  // namespace ${NAMESPACE}
")
