#ifndef COMMON_HOST_LIVE_FILES_H_
#define COMMON_HOST_LIVE_FILES_H_

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/host/host.h"

namespace galen::host {

// Reads of this machine's files. They may block for as long as the kernel does; LiveHost runs them
// on separate threads. `path` and `pattern` are absolute.
//
// Errors: NOT_FOUND; PERMISSION_DENIED; FAILED_PRECONDITION it is not a regular file (for example a
// device or a pipe); UNAVAILABLE the kernel returns an I/O error.

// The first `limit` bytes of a file.
absl::StatusOr<std::string> ReadLiveFile(const std::string& path, std::size_t limit);

// As ReadLiveFile(), in the view of process `pid`: its mounts, its root, and its own /proc/self,
// also as /proc/`pid` by its number in the job's PID namespace. Links inside cannot lead out of its
// root. UNAVAILABLE: the process is gone, or the kernel has no openat2 (before Linux 5.6).
absl::StatusOr<std::string> ReadJobFile(pid_t pid, const std::string& path, std::size_t limit);

// Paths below `root` ("": the machine's root) that match a glob(7) pattern, sorted, without `root`.
// NOT_FOUND: there is none.
absl::StatusOr<std::vector<std::string>> GlobLive(const std::string& root,
                                                  const std::string& pattern);

// As GlobLive(), in the view of process `pid`. UNAVAILABLE: the process is gone.
absl::StatusOr<std::vector<std::string>> GlobJob(pid_t pid, const std::string& pattern);

// Size of the file system of type `type` at `target`, in the view of process `pid`, or of the
// machine if `pid` is 0.
absl::StatusOr<Space> SpaceOfMount(pid_t pid, const std::string& target, const std::string& type);

}  // namespace galen::host

#endif  // COMMON_HOST_LIVE_FILES_H_
