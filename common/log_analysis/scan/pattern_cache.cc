#include "common/log_analysis/scan/pattern_cache.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace galen::log_scan {
namespace {

constexpr absl::string_view kMagic = "galen.patterns/1\n";

// FNV-1a. A collision costs a compilation, no more.
std::uint64_t Digest(absl::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  return hash;
}

std::string Header(absl::string_view key, absl::string_view value) {
  return absl::StrCat(kMagic, key.size(), " ", absl::Hex(Digest(value), absl::kZeroPad16), "\n",
                      key);
}

}  // namespace

std::string CachePath(const std::string& directory, absl::string_view key) {
  return absl::StrCat(directory, "/patterns-", absl::Hex(Digest(key), absl::kZeroPad16), ".hsdb");
}

absl::StatusOr<std::string> ReadCached(const std::string& directory, absl::string_view key) {
  const std::string path = CachePath(directory, key);
  std::ifstream in(path, std::ios::binary);
  if (!in) return absl::NotFoundError(absl::StrCat(path, ": not there"));
  const std::string file{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::size_t header_size = Header(key, "").size();
  if (file.size() < header_size) return absl::DataLossError(absl::StrCat(path, ": cut short"));
  const std::string value = file.substr(header_size);
  if (file.compare(0, header_size, Header(key, value)) != 0) {
    return absl::DataLossError(absl::StrCat(path, ": damaged, or of other patterns"));
  }
  return value;
}

absl::Status WriteCached(const std::string& directory, absl::string_view key,
                         absl::string_view value) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  const std::string path = CachePath(directory, key);
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  const int fd = mkstemp(temporary.data());
  if (fd < 0) return absl::UnavailableError(absl::StrCat(temporary, ": ", std::strerror(errno)));
  const std::string file = absl::StrCat(Header(key, value), value);
  std::size_t written = 0;
  while (written < file.size()) {
    const ssize_t n = write(fd, file.data() + written, file.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    written += static_cast<std::size_t>(n);
  }
  const bool closed = close(fd) == 0;
  if (written == file.size() && closed && std::rename(temporary.c_str(), path.c_str()) == 0) {
    return absl::OkStatus();
  }
  const std::string why = std::strerror(errno);
  unlink(temporary.c_str());
  return absl::UnavailableError(absl::StrCat(path, ": ", why));
}

}  // namespace galen::log_scan
