#include "common/knowledge/cache.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/knowledge/files.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace galen::knowledge {
namespace {

namespace fs = std::filesystem;

fs::path CacheFile(const std::string& directory, const std::string& digest) {
  return fs::path(directory) / absl::StrCat("knowledge-", digest, ".pb");
}

bool WriteAll(int fd, absl::string_view data) {
  while (!data.empty()) {
    const ssize_t written = ::write(fd, data.data(), data.size());
    if (written <= 0) return false;
    data.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

// The file is the SHA-256 of what follows, in hexadecimal, and the serialized base.
std::optional<v1::KnowledgeBase> ReadFromCache(const std::string& directory,
                                               const std::string& digest) {
  std::ifstream in(CacheFile(directory, digest), std::ios::binary);
  if (!in.is_open()) return std::nullopt;
  const std::string content((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  constexpr std::size_t kDigestSize = 64;
  if (content.size() < kDigestSize) return std::nullopt;
  const absl::string_view payload = absl::string_view(content).substr(kDigestSize);
  if (Sha256(payload) != content.substr(0, kDigestSize)) return std::nullopt;
  v1::KnowledgeBase base;
  if (!base.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) return std::nullopt;
  if (base.digest() != digest) return std::nullopt;
  return base;
}

void StoreInCache(const std::string& directory, const v1::KnowledgeBase& base) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return;
  std::string payload;
  {
    // Maps in a fixed order: the same knowledge gives the same file.
    google::protobuf::io::StringOutputStream stream(&payload);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    if (!base.SerializeToCodedStream(&coded)) return;
  }
  std::string temporary = (fs::path(directory) / "knowledge-XXXXXX").string();
  const int fd = ::mkstemp(temporary.data());
  if (fd < 0) return;
  const bool written = WriteAll(fd, Sha256(payload)) && WriteAll(fd, payload);
  const bool closed = ::close(fd) == 0;
  if (written && closed) fs::rename(temporary, CacheFile(directory, base.digest()), error);
  if (!written || !closed || error) fs::remove(temporary, error);
}

}  // namespace galen::knowledge
