#include "common/kube/token.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace galen::kube {
namespace {

constexpr std::size_t kMostBytes = 64 << 10;

bool Same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

absl::StatusOr<std::string> Read(int file, const std::string& path) {
  std::string text;
  std::array<char, 4096> bytes;
  for (;;) {
    const ssize_t size = read(file, bytes.data(), bytes.size());
    if (size < 0)
      return absl::FailedPreconditionError(absl::StrCat(path, ": ", std::strerror(errno)));
    if (size == 0) break;
    text.append(bytes.data(), static_cast<std::size_t>(size));
    if (text.size() > kMostBytes) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, ": larger than any token; name the file of a service account token"));
    }
  }
  text = std::string(absl::StripAsciiWhitespace(text));
  // One header, one line.
  if (text.empty() || !std::all_of(text.begin(), text.end(), absl::ascii_isgraph)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": holds no token; name the file of a service account token"));
  }
  return text;
}

}  // namespace

absl::StatusOr<http::Secret> TokenFile::Get() {
  if (path_.empty()) return http::Secret();
  MutexLock lock(mu_);
  struct stat now = {};
  const int file = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0 || fstat(file, &now) != 0) {
    const int error = errno;
    if (file >= 0) close(file);
    if (!token_.empty()) return token_;
    return absl::FailedPreconditionError(absl::StrCat(
        path_, ": ", std::strerror(error), "; name the file of a service account token"));
  }
  if (!token_.empty() && Same(now, seen_)) {
    close(file);
    return token_;
  }
  absl::StatusOr<std::string> text = Read(file, path_);
  close(file);
  if (!text.ok()) {
    if (!token_.empty()) return token_;
    return text.status();
  }
  token_ = http::Secret(*std::move(text));
  seen_ = now;
  return token_;
}

void TokenFile::Refused() {
  MutexLock lock(mu_);
  seen_ = {};
}

}  // namespace galen::kube
