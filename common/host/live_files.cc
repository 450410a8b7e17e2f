#include "common/host/live_files.h"

#include <fcntl.h>
#include <glob.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/text.h"
#include "common/host/file_descriptor.h"

namespace galen::host {
namespace {

absl::Status FileError(int error, const std::string& path) {
  const std::string shown = CleanText(path, 256);
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ESRCH:
    case ENODEV:
    case ENXIO:
      return absl::NotFoundError(absl::StrCat(shown, " does not exist"));
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(absl::StrCat(shown, " may not be read by this user"));
    default:
      // sysfs returns EINVAL, EIO or EOPNOTSUPP for values that the device does not report.
      return absl::UnavailableError(
          absl::StrCat(shown, " cannot be read (", absl::ErrnoToStatus(error, "").message(), ")"));
  }
}

// `place` was opened with O_PATH, which neither waits for a pipe nor touches a device.
absl::StatusOr<std::string> ReadPlace(const FileDescriptor& place, const std::string& path,
                                      std::size_t limit) {
  if (!place.is_open()) return FileError(errno, path);
  struct stat info;
  if (fstat(place.get(), &info) != 0) return FileError(errno, path);
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(CleanText(path, 256), " is not a regular file"));
  }
  const FileDescriptor file(
      open(absl::StrCat("/proc/self/fd/", place.get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return FileError(errno, path);
  std::string content;
  std::array<char, 65536> chunk;
  while (content.size() < limit) {
    const ssize_t n =
        read(file.get(), chunk.data(), std::min(chunk.size(), limit - content.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError(errno, path);
    if (n == 0) break;
    content.append(chunk.data(), static_cast<std::size_t>(n));
  }
  return content;
}

// Whether the last glob of this thread met an unreadable directory, which glob(3) treats like an
// empty one. Aligned, because in a program without another thread-local variable a linker may put a
// single byte on the page before the read-only data, and the program then does not start.
alignas(8) thread_local bool hidden_from_glob = false;
int NoteHidden(const char* /*directory*/, int error) {
  hidden_from_glob = hidden_from_glob || error == EACCES || error == EPERM;
  return 0;
}

bool IsPattern(absl::string_view text) {
  return text.find_first_of("*?[") != absl::string_view::npos;
}

// True if a path that matches `pattern` may exist but be hidden from this user. Names after the
// last wildcard are looked up without reading a directory, and glob(3) does not report errors
// there.
bool MayNotLookAt(const std::string& pattern) {
  std::size_t tail = pattern.size();  // begin of the names after the last wildcard
  while (tail > 0) {
    const std::size_t slash = pattern.rfind('/', tail - 1);
    if (slash == std::string::npos || IsPattern(pattern.substr(slash + 1, tail - slash - 1))) break;
    tail = slash;
  }
  std::vector<std::string> parents = {pattern.substr(0, tail)};
  if (tail == pattern.size()) return false;
  if (tail > 0) {
    parents.clear();
    glob_t found = {};
    if (glob(pattern.substr(0, tail).c_str(), GLOB_NOSORT, NoteHidden, &found) == 0) {
      parents.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    }
    globfree(&found);
  }
  return std::any_of(parents.begin(), parents.end(), [&](const std::string& parent) {
    struct stat info;
    return lstat((parent + pattern.substr(tail)).c_str(), &info) != 0 &&
           (errno == EACCES || errno == EPERM);
  });
}

// Opens a path below the root of a process; links inside cannot lead out of it.
FileDescriptor OpenBelow(const FileDescriptor& root, const std::string& path) {
  open_how how = {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return FileDescriptor(
      static_cast<int>(syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof(how))));
}

// Maps a path in the job's /proc to this machine's /proc: `job_prefix` at the begin of `path` is
// replaced by `prefix`.
struct OwnProc {
  std::string job_prefix;
  std::string prefix;
};

// In the job's own /proc, "self" is the reading process, or a broken link if the job has its own
// PID namespace (a container); then its process id differs there, too.
std::optional<OwnProc> FindOwnProc(pid_t pid, absl::string_view path) {
  const std::string process = absl::StrCat("/proc/", pid);
  for (const std::string& own : {std::string("/proc/self"), process}) {
    if (absl::StartsWith(path, absl::StrCat(own, "/"))) return OwnProc{own, process};
  }
  // These are links into "self".
  if (path == "/proc/mounts" || absl::StartsWith(path, "/proc/net/")) {
    return OwnProc{"/proc", process};
  }
  return std::nullopt;
}

// A file that is not found is not known as absent if the process has ended meanwhile.
absl::Status IfAlive(pid_t pid, absl::Status status) {
  if (!absl::IsNotFound(status)) return status;
  struct stat info;
  if (stat(absl::StrCat("/proc/", pid).c_str(), &info) == 0) return status;
  return absl::UnavailableError(absl::StrCat("the job's process ", pid, " is gone"));
}

}  // namespace

absl::StatusOr<std::string> ReadLiveFile(const std::string& path, std::size_t limit) {
  const FileDescriptor place(open(path.c_str(), O_PATH | O_CLOEXEC));
  return ReadPlace(place, path, limit);
}

absl::StatusOr<std::string> ReadJobFile(pid_t pid, const std::string& path, std::size_t limit) {
  absl::StatusOr<std::string> content;
  if (const std::optional<OwnProc> own = FindOwnProc(pid, path)) {
    content =
        ReadLiveFile(absl::StrCat(own->prefix, absl::StripPrefix(path, own->job_prefix)), limit);
  } else {
    const std::string root_path = absl::StrCat("/proc/", pid, "/root");
    const FileDescriptor root(open(root_path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    content = root.is_open() ? ReadPlace(OpenBelow(root, path), path, limit)
                             : FileError(errno, root_path);
  }
  if (content.ok()) return content;
  return IfAlive(pid, content.status());
}

absl::StatusOr<std::vector<std::string>> GlobLive(const std::string& root,
                                                  const std::string& pattern) {
  const std::string full = absl::StrCat(root, pattern);
  hidden_from_glob = false;
  glob_t found = {};
  const int code = glob(full.c_str(), GLOB_NOSORT, NoteHidden, &found);
  std::vector<std::string> paths;
  if (code == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      paths.emplace_back(absl::StripPrefix(found.gl_pathv[i], root));
    }
  }
  globfree(&found);
  if (code == GLOB_NOSPACE) {
    return absl::ResourceExhaustedError(
        absl::StrCat(CleanText(pattern, 256), ": matches too many files"));
  }
  if (paths.empty() && (hidden_from_glob || MayNotLookAt(full))) {
    return FileError(EACCES, pattern);
  }
  if (paths.empty()) {
    return absl::NotFoundError(absl::StrCat(CleanText(pattern, 256), ": there is no such file"));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

absl::StatusOr<std::vector<std::string>> GlobJob(pid_t pid, const std::string& pattern) {
  const std::optional<OwnProc> own = FindOwnProc(pid, pattern);
  const std::string root = own ? own->prefix : absl::StrCat("/proc/", pid, "/root");
  const std::string before = own ? own->job_prefix : "";
  absl::StatusOr<std::vector<std::string>> paths =
      GlobLive(root, std::string(absl::StripPrefix(pattern, before)));
  if (!paths.ok()) {
    // The message begins with the pattern.
    return IfAlive(
        pid, absl::Status(paths.status().code(), absl::StrCat(before, paths.status().message())));
  }
  for (std::string& path : *paths) path.insert(0, before);
  return paths;
}

absl::StatusOr<Space> SpaceOfMount(pid_t pid, const std::string& target, const std::string& type) {
  const std::string root_path = pid == 0 ? "/" : absl::StrCat("/proc/", pid, "/root");
  const FileDescriptor root(open(root_path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.is_open()) return FileError(errno, root_path);
  const FileDescriptor place = OpenBelow(root, target);
  if (!place.is_open()) return FileError(errno, target);
  struct statvfs info = {};
  if (fstatvfs(place.get(), &info) != 0) return FileError(errno, target);
  Space space;
  space.type = type;
  space.total_bytes = static_cast<std::int64_t>(info.f_blocks * info.f_frsize);
  space.free_bytes = static_cast<std::int64_t>(info.f_bavail * info.f_frsize);
  return space;
}

}  // namespace galen::host
