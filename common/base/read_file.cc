#include "common/base/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace galen {

absl::StatusOr<std::string> ReadSmallFile(const std::string& path, std::size_t most) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ssize_t got = -1;
  std::string content;
  if (file >= 0) {
    char block[16384];
    while ((got = read(file, block, sizeof(block))) > 0 && content.size() <= most) {
      content.append(block, static_cast<std::size_t>(got));
    }
  }
  const int why = errno;
  if (file >= 0) close(file);
  if (got < 0) return absl::ErrnoToStatus(why, absl::StrCat(path, ": cannot be read"));
  if (content.size() > most) {
    constexpr std::size_t kMiB = std::size_t{1} << 20;
    return absl::InvalidArgumentError(
        most % kMiB == 0 ? absl::StrCat(path, ": has more than ", most / kMiB, " MiB")
                         : absl::StrCat(path, ": has more than ", most, " bytes"));
  }
  return content;
}

}  // namespace galen
