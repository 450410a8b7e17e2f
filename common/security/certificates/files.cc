#include "common/security/certificates/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace galen::security {
namespace {

absl::Status Failed(const std::string& path, const char* what) {
  return absl::ErrnoToStatus(errno, absl::StrCat(path, ": ", what));
}

}  // namespace

CredentialFiles FilesIn(const std::string& directory, Role role) {
  struct stat found {};
  if (stat((directory + "/tls.crt").c_str(), &found) == 0) {
    return {directory + "/tls.crt", directory + "/tls.key", directory + "/ca.crt"};
  }
  const std::string own = absl::StrCat(directory, "/", NameOf(role));
  return {own + ".pem", own + ".key", directory + "/ca.pem"};
}

absl::Status ReplaceFile(const std::string& path, absl::string_view content, mode_t mode) {
  const std::string fresh = path + ".new";
  unlink(fresh.c_str());
  const int file = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file < 0) return Failed(fresh, "cannot be made");
  bool written = fchmod(file, mode) == 0;  // whatever the umask
  while (written && !content.empty()) {
    const ssize_t put = write(file, content.data(), content.size());
    written = put > 0;
    if (written) content.remove_prefix(static_cast<std::size_t>(put));
  }
  written = written && fsync(file) == 0;
  const absl::Status failure = written ? absl::OkStatus() : Failed(fresh, "cannot be written");
  close(file);
  if (!failure.ok()) {
    unlink(fresh.c_str());
    return failure;
  }
  if (rename(fresh.c_str(), path.c_str()) != 0) return Failed(path, "cannot be replaced");
  return absl::OkStatus();
}

}  // namespace galen::security
