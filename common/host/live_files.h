#ifndef COMMON_HOST_LIVE_FILES_H_
#define COMMON_HOST_LIVE_FILES_H_

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/host/host.h"

namespace galen::host {

// Reads of this machine's files. They may block for as long as the kernel does; LiveHost puts them
// on threads of their own. `path` and `pattern` are absolute.
//
// Errors: NOT_FOUND; PERMISSION_DENIED; FAILED_PRECONDITION it is not a regular file (so neither a
// device nor a pipe); UNAVAILABLE the kernel gives an I/O error.

// The first `limit` bytes of a file.
absl::StatusOr<std::string> ReadLiveFile(const std::string& path, std::size_t limit);

// The same as process `pid` sees it: its mounts, its root, and /proc/self is its own, as is
// /proc/`pid` however the job itself numbers it. Links inside cannot lead out of its root.
// UNAVAILABLE when the process is gone, and when the kernel has no openat2 (before Linux 5.6).
absl::StatusOr<std::string> ReadJobFile(pid_t pid, const std::string& path, std::size_t limit);

// Paths below `root` ("" is the machine's) that match a glob(7) pattern, sorted, without `root`.
// NOT_FOUND when there is none.
absl::StatusOr<std::vector<std::string>> GlobLive(const std::string& root,
                                                  const std::string& pattern);

// The same as process `pid` sees it. UNAVAILABLE when the process is gone.
absl::StatusOr<std::vector<std::string>> GlobJob(pid_t pid, const std::string& pattern);

// How large the file system of type `type` at `target` is, as process `pid` sees it, or the machine
// when `pid` is 0.
absl::StatusOr<Space> SpaceOfMount(pid_t pid, const std::string& target, const std::string& type);

}  // namespace galen::host

#endif  // COMMON_HOST_LIVE_FILES_H_
