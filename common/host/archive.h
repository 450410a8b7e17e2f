#ifndef COMMON_HOST_ARCHIVE_H_
#define COMMON_HOST_ARCHIVE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace galen::host {

// A new directory below $TMPDIR (or /tmp); the destructor removes it with its content.
class TemporaryDirectory {
 public:
  static absl::StatusOr<TemporaryDirectory> Create();
  ~TemporaryDirectory();
  TemporaryDirectory(TemporaryDirectory&& other) noexcept;
  TemporaryDirectory& operator=(TemporaryDirectory&& other) noexcept;

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

// Each file, directory and link counts as this many bytes of disk besides its content.
inline constexpr std::int64_t kInodeBytes = 4096;

// Limits on the content of an archive and on the cost of unpacking it.
struct ArchiveLimits {
  // Files, links and directories, including parent directories without an entry.
  std::int64_t files = 200'000;
  std::int64_t bytes = std::int64_t{32} << 30;  // with kInodeBytes for each of them
  int depth = 64;                               // parts of a path
  absl::Duration time = absl::Minutes(10);
};

// Unpacks an untrusted .tar, .tar.gz, .tar.zst or .zip into the empty directory `directory`. After
// an error the files unpacked so far remain there.
//
// INVALID_ARGUMENT the archive is not of these types, is truncated or corrupt, names a path
// outside, or has links that lead outside (alone, or through each other) or entries other than
// files, directories and links; RESOURCE_EXHAUSTED it exceeds `limits`, or the disk is full;
// NOT_FOUND, PERMISSION_DENIED the archive itself.
absl::Status Unpack(const std::string& archive, const std::string& directory,
                    const ArchiveLimits& limits);

}  // namespace galen::host

#endif  // COMMON_HOST_ARCHIVE_H_
