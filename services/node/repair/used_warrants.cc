#include "services/node/repair/used_warrants.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"

namespace galen::node {
namespace {

namespace fs = std::filesystem;

constexpr char kSuffix[] = ".repair";
constexpr std::size_t kMostBytes = 1 << 20;

absl::Status Failed(absl::string_view what, const std::string& path) {
  return absl::UnavailableError(absl::StrCat(what, " ", path, ": ", std::strerror(errno)));
}

absl::Status Sync(const std::string& path, int flags) {
  const int file = open(path.c_str(), flags | O_CLOEXEC);
  if (file < 0) return Failed("open", path);
  const bool synced = fsync(file) == 0;
  const absl::Status status = synced ? absl::OkStatus() : Failed("sync", path);
  close(file);
  return status;
}

// On the disk, with its name, when it returns.
absl::Status Write(const std::string& path, const std::string& text, int flags) {
  const int file = open(path.c_str(), flags | O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) {
    return errno == EEXIST ? absl::AlreadyExistsError(absl::StrCat(path, ": was used before"))
                           : Failed("open", path);
  }
  absl::Status status;
  for (std::size_t at = 0; at < text.size() && status.ok();) {
    const ssize_t wrote = write(file, text.data() + at, text.size() - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) status = Failed("write", path);
    if (wrote > 0) at += static_cast<std::size_t>(wrote);
  }
  if (status.ok() && fsync(file) != 0) status = Failed("sync", path);
  close(file);
  return status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<UsedWarrants>> UsedWarrants::Open(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  const auto problem = [&directory](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(
        directory, ": ", why, "; what was carried out is noted there (--repair_state)"));
  };
  if (error) return problem(error.message());
  if (access(directory.c_str(), W_OK | X_OK) != 0) return problem(std::strerror(errno));
  return std::unique_ptr<UsedWarrants>(new UsedWarrants(directory));
}

std::string UsedWarrants::PathOf(const std::string& nonce) const {
  return absl::StrCat(directory_, "/", nonce, kSuffix);
}

absl::StatusOr<std::optional<v1::RepairResponse>> UsedWarrants::Find(
    const std::string& nonce) const {
  const std::string path = PathOf(nonce);
  const absl::StatusOr<std::string> text = ReadSmallFile(path, kMostBytes);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  v1::RepairResponse response;
  if (!text.ok() || !response.ParseFromString(*text)) {
    return absl::DataLossError(absl::StrCat(path, ": cannot be read"));
  }
  if (response.state() == v1::RepairResponse::STATE_UNSPECIFIED) {
    response.set_state(v1::RepairResponse::INTERRUPTED);
    response.set_text("it was begun before, and how it ended is not known");
  }
  return response;
}

absl::Status UsedWarrants::Begin(const std::string& nonce) {
  const bool named = !nonce.empty() && std::all_of(nonce.begin(), nonce.end(), [](char c) {
    return absl::ascii_isxdigit(static_cast<unsigned char>(c));
  });
  if (!named) return absl::InvalidArgumentError("warrant: its nonce is not hexadecimal");
  // An empty note: begun, and no more.
  GALEN_RETURN_IF_ERROR(Write(PathOf(nonce), "", O_EXCL));
  return Sync(directory_, O_RDONLY | O_DIRECTORY);
}

absl::Status UsedWarrants::End(const std::string& nonce, const v1::RepairResponse& response) {
  const std::string path = PathOf(nonce);
  const std::string fresh = absl::StrCat(path, ".new");
  GALEN_RETURN_IF_ERROR(Write(fresh, response.SerializeAsString(), O_TRUNC));
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return Failed("rename", path);
  return Sync(directory_, O_RDONLY | O_DIRECTORY);
}

void UsedWarrants::Forget(absl::Time then) {
  std::error_code error;
  std::vector<fs::path> old;
  for (fs::directory_iterator it(directory_, error), end; !error && it != end;
       it.increment(error)) {
    struct stat status {};
    const std::string path = it->path().string();
    if (it->path().extension() != kSuffix || lstat(path.c_str(), &status) != 0) continue;
    if (absl::TimeFromTimespec(status.st_mtim) < then) old.push_back(it->path());
  }
  for (const fs::path& path : old) fs::remove(path, error);
}

}  // namespace galen::node
