#include "common/host/bundle_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/base/text.h"
#include "common/host/file_descriptor.h"

namespace galen::host {
namespace {

constexpr std::size_t kMaxNames = 200'000;

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

std::string Shown(absl::string_view path) { return CleanText(path, 256); }

absl::Status FileError(int error, absl::string_view path) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(absl::StrCat(Shown(path), ": no such file"));
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(absl::StrCat(Shown(path), ": may not be read"));
    case ELOOP:
      return absl::PermissionDeniedError(absl::StrCat(Shown(path), ": its links go in a circle"));
    case ENAMETOOLONG:
      return absl::InvalidArgumentError(absl::StrCat(Shown(path), ": the path is too long"));
    default:
      return absl::ErrnoToStatus(error, Shown(path));
  }
}

absl::Status CheckRegular(const FileDescriptor& file, absl::string_view path) {
  struct stat info;
  if (fstat(file.get(), &info) != 0) return FileError(errno, path);
  if (S_ISREG(info.st_mode)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(Shown(path), ": is not a regular file"));
}

std::string ProcPath(const FileDescriptor& fd) { return absl::StrCat("/proc/self/fd/", fd.get()); }

// Opens a path below `root` that has no links, in one system call: it is then certainly inside. Not
// open: the fast path does not apply, or the file does not exist (see errno).
FileDescriptor OpenWithoutLinks(const std::string& root, absl::string_view path,
                                std::uint64_t flags) {
  const std::string full = absl::StrCat(root, "/", path);
  open_how how = {};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS;
  return FileDescriptor(
      static_cast<int>(syscall(SYS_openat2, AT_FDCWD, full.c_str(), &how, sizeof(how))));
}

// Whether the error means that the file does not exist.
bool IsNothing(int error) { return error == ENOENT || error == ENOTDIR; }

// Opens a path below `root` without reading it, and refuses a place outside. It checks the open
// file, not the path, so replacing a link meanwhile has no effect.
absl::StatusOr<FileDescriptor> OpenBelow(const std::string& root, absl::string_view path,
                                         std::string* resolved) {
  if (!path.empty()) GALEN_RETURN_IF_ERROR(CheckRelative(path));
  const std::string full = path.empty() ? root : absl::StrCat(root, "/", path);
  FileDescriptor fd(open(full.c_str(), O_PATH | O_CLOEXEC));
  if (!fd.is_open()) return FileError(errno, path);
  std::array<char, PATH_MAX> target;
  const ssize_t length = readlink(ProcPath(fd).c_str(), target.data(), target.size());
  if (length < 0) return absl::ErrnoToStatus(errno, "/proc/self/fd");
  *resolved = std::string(target.data(), static_cast<std::size_t>(length));
  if (*resolved != root && !absl::StartsWith(*resolved, root == "/" ? root : root + "/")) {
    return absl::PermissionDeniedError(
        absl::StrCat(Shown(path), ": is a link that leaves the bundle; put a copy in its place"));
  }
  return fd;
}

}  // namespace

// A cache of recent reads. Thread-safe.
class BundleFiles::Memory {
 public:
  // The cached value of `key`, otherwise the result of `read`. `size` returns the bytes of a value.
  template <typename Value, typename Size, typename Read>
  absl::StatusOr<Value> Get(std::map<std::string, absl::StatusOr<Value>, std::less<>>& values,
                            absl::string_view key, Size size, Read read) {
    {
      const MutexLock lock(mu_);
      if (const absl::Time now = SteadyNow(); now > good_until_) {
        files_.clear();
        places_.clear();
        lists_.clear();
        bytes_ = 0;
        good_until_ = now + kRemembered;
      }
      if (const auto it = values.find(key); it != values.end()) return it->second;
    }
    absl::StatusOr<Value> value = read();
    const std::size_t bytes = kOverhead + key.size() + (value.ok() ? size(*value) : 0);
    const MutexLock lock(mu_);
    if (bytes > kMostOfOne || bytes_ + bytes > kMostBytes) return value;
    if (values.emplace(std::string(key), value).second) bytes_ += bytes;
    return value;
  }

  struct File {
    std::string content;
    bool truncated = false;
  };
  using Strings = std::vector<std::string>;

  absl::StatusOr<File> FileOf(absl::string_view key,
                              absl::FunctionRef<absl::StatusOr<File>()> read) {
    return Get(
        files_, key, [](const File& file) { return file.content.size(); }, read);
  }
  absl::StatusOr<std::string> Place(absl::string_view key,
                                    absl::FunctionRef<absl::StatusOr<std::string>()> read) {
    return Get(
        places_, key, [](const std::string& place) { return place.size(); }, read);
  }
  absl::StatusOr<Strings> List(absl::string_view key,
                               absl::FunctionRef<absl::StatusOr<Strings>()> read) {
    return Get(
        lists_, key,
        [](const Strings& names) {
          std::size_t bytes = 0;
          for (const std::string& name : names) bytes += sizeof(name) + name.size();
          return bytes;
        },
        read);
  }

 private:
  static constexpr std::size_t kOverhead = 200;
  static constexpr std::size_t kMostOfOne = 512 << 10;
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20;

  Mutex mu_;
  absl::Time good_until_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  std::size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
  // Used under mu_ only; handed to Get() by reference, which the annotations cannot follow.
  std::map<std::string, absl::StatusOr<File>, std::less<>> files_;
  std::map<std::string, absl::StatusOr<std::string>, std::less<>> places_;
  std::map<std::string, absl::StatusOr<Strings>, std::less<>> lists_;
};

void BundleFiles::Remember() { memory_ = std::make_shared<Memory>(); }

absl::StatusOr<std::string> BundleFiles::Resolve(absl::string_view path) const {
  if (memory_ == nullptr) return ResolveAnew(path);
  return memory_->Place(path, [&] { return ResolveAnew(path); });
}

absl::StatusOr<std::string> BundleFiles::Read(absl::string_view path, std::size_t limit,
                                              bool* truncated) const {
  if (memory_ == nullptr) return ReadAnew(path, limit, truncated);
  GALEN_ASSIGN_OR_RETURN(
      Memory::File file,
      memory_->FileOf(absl::StrCat(limit, " ", path), [&]() -> absl::StatusOr<Memory::File> {
        Memory::File read;
        GALEN_ASSIGN_OR_RETURN(read.content, ReadAnew(path, limit, &read.truncated));
        return read;
      }));
  if (truncated != nullptr) *truncated = file.truncated;
  return std::move(file.content);
}

absl::StatusOr<std::vector<std::string>> BundleFiles::List(absl::string_view path) const {
  if (memory_ == nullptr) return ListAnew(path);
  return memory_->List(path, [&] { return ListAnew(path); });
}

absl::Status CheckRelative(absl::string_view path) {
  if (path.empty() || path.front() == '/' || absl::StrContains(path, '\0')) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", Shown(path), "\": is not a relative path"));
  }
  for (const absl::string_view part : absl::StrSplit(path, '/')) {
    if (part == "..") {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", Shown(path), "\": leaves its directory by \"..\""));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<BundleFiles> BundleFiles::Open(const std::string& directory) {
  std::array<char, PATH_MAX> real;
  if (realpath(directory.c_str(), real.data()) == nullptr) return FileError(errno, directory);
  struct stat info;
  if (stat(real.data(), &info) != 0) return FileError(errno, directory);
  if (!S_ISDIR(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(Shown(directory), ": is not a directory"));
  }
  return BundleFiles(real.data());
}

absl::StatusOr<std::string> BundleFiles::ResolveAnew(absl::string_view path) const {
  if (CheckRelative(path).ok()) {
    if (OpenWithoutLinks(root_, path, O_PATH).is_open()) return absl::StrCat(root_, "/", path);
    if (IsNothing(errno)) return FileError(errno, path);
  }
  std::string resolved;
  GALEN_RETURN_IF_ERROR(OpenBelow(root_, path, &resolved).status());
  return resolved;
}

absl::StatusOr<std::string> BundleFiles::ReadAnew(absl::string_view path, std::size_t limit,
                                                  bool* truncated) const {
  GALEN_RETURN_IF_ERROR(CheckRelative(path));
  // O_NONBLOCK: opening a file that is not regular must not block.
  FileDescriptor file = OpenWithoutLinks(root_, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file.is_open()) {
    if (IsNothing(errno)) return FileError(errno, path);
    std::string resolved;
    GALEN_ASSIGN_OR_RETURN(const FileDescriptor place, OpenBelow(root_, path, &resolved));
    GALEN_RETURN_IF_ERROR(CheckRegular(place, path));
    file = FileDescriptor(open(ProcPath(place).c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) return FileError(errno, path);
  }
  GALEN_RETURN_IF_ERROR(CheckRegular(file, path));
  std::string content;
  std::array<char, 65536> chunk;
  bool more = false;
  while (true) {
    const ssize_t n = read(file.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError(errno, path);
    if (n == 0) break;
    const std::size_t take = std::min(static_cast<std::size_t>(n), limit - content.size());
    content.append(chunk.data(), take);
    if (take < static_cast<std::size_t>(n)) {
      more = true;
      break;
    }
  }
  if (truncated != nullptr) *truncated = more;
  return content;
}

absl::StatusOr<std::vector<std::string>> BundleFiles::ListAnew(absl::string_view path) const {
  std::string resolved;
  GALEN_ASSIGN_OR_RETURN(const FileDescriptor place, OpenBelow(root_, path, &resolved));
  const std::unique_ptr<DIR, CloseDirectory> dir(opendir(ProcPath(place).c_str()));
  if (dir == nullptr) return FileError(errno, path);
  std::vector<std::string> names;
  while (const dirent* entry = readdir(dir.get())) {
    const absl::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == kMaxNames) {
      return absl::ResourceExhaustedError(
          absl::StrCat(Shown(path), ": holds more than ", kMaxNames, " files"));
    }
    names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace galen::host
