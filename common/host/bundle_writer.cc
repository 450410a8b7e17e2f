#include "common/host/bundle_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/host/file_descriptor.h"

namespace galen::host {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlock = std::size_t{8} << 20;
// Maximum number of bytes of an unfinished key that are kept for the next block.
constexpr std::size_t kMostOfKey = std::size_t{64} << 10;
constexpr absl::string_view kPartial = ".partial";
constexpr std::size_t kLongestName = 255;

absl::Status FileWriteError(int error, absl::string_view path) {
  const std::string shown = CleanText(path, 256);
  if (error == ENOSPC || error == EDQUOT) {
    return absl::ResourceExhaustedError(absl::StrCat(shown, ": no space left; free some"));
  }
  if (error == EACCES || error == EPERM || error == EROFS) {
    return absl::PermissionDeniedError(
        absl::StrCat(shown, ": may not be written by this user; choose another directory"));
  }
  if (error == ENAMETOOLONG) {
    return absl::InvalidArgumentError(absl::StrCat(shown, ": the path is too long"));
  }
  return absl::ErrnoToStatus(error, absl::StrCat(shown, ": writing"));
}

absl::Status WriteAll(const FileDescriptor& file, absl::string_view content,
                      absl::string_view path) {
  while (!content.empty()) {
    const ssize_t n = write(file.get(), content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileWriteError(errno, path);
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return absl::OkStatus();
}

// The position at which `block`, which is not the last one, may be cut without splitting a secret:
// after its last whole line, or before an unfinished key. npos: none, more must be read first.
std::size_t CutOf(absl::string_view block) {
  const std::size_t last = block.rfind('\n');
  if (last == absl::string_view::npos) return last;
  const std::size_t key = block.rfind("-----BEGIN ", last);
  if (key == absl::string_view::npos || last - key > kMostOfKey ||
      block.find("-----END ", key) < last) {
    return last + 1;
  }
  const std::size_t line = block.rfind('\n', key);
  if (line != absl::string_view::npos) return line + 1;
  if (key > 0) return key;
  return block.size() < kBlock ? absl::string_view::npos : last + 1;
}

// The temporary name of a file, of at most the length that a file name may have.
std::string PassingName(const std::string& path) {
  const std::size_t name = path.rfind('/') + 1;
  const std::size_t room = kLongestName - kPartial.size();
  return absl::StrCat(absl::string_view(path).substr(0, name),
                      absl::string_view(path).substr(name, room), kPartial);
}

// A file with a temporary name, which gets its final name once it is complete.
class NewFile {
 public:
  explicit NewFile(std::string path) : path_(std::move(path)), passing_(PassingName(path_)) {}
  ~NewFile() {
    if (file_.is_open()) unlink(passing_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  absl::Status Begin() {
    unlink(passing_.c_str());
    file_ = FileDescriptor(
        open(passing_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    return file_.is_open() ? absl::OkStatus() : FileWriteError(errno, path_);
  }
  absl::Status Append(absl::string_view content) { return WriteAll(file_, content, path_); }
  absl::Status Finish() {
    if (rename(passing_.c_str(), path_.c_str()) != 0) return FileWriteError(errno, path_);
    file_.Close();
    return absl::OkStatus();
  }

 private:
  const std::string path_;
  const std::string passing_;
  FileDescriptor file_;
};

}  // namespace

absl::StatusOr<BundleWriter> BundleWriter::Open(const std::string& directory) {
  GALEN_ASSIGN_OR_RETURN(BundleFiles files, BundleFiles::Open(directory));
  return BundleWriter(std::move(files));
}

absl::StatusOr<BundleWriter> BundleWriter::Create(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return FileWriteError(error.value(), directory);
  GALEN_ASSIGN_OR_RETURN(BundleFiles files, BundleFiles::Open(directory));
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(""));
  if (!names.empty()) {
    return absl::AlreadyExistsError(absl::StrCat(
        CleanText(directory, 256), ": is not empty; choose a new directory or empty this one"));
  }
  return BundleWriter(std::move(files));
}

absl::StatusOr<std::string> BundleWriter::Prepare(absl::string_view path) const {
  GALEN_RETURN_IF_ERROR(CheckRelative(path));
  std::vector<absl::string_view> parts = absl::StrSplit(path, '/', absl::SkipEmpty());
  const absl::string_view name = parts.back();
  parts.pop_back();
  std::string relative;
  std::string resolved = files_.root();
  for (const absl::string_view part : parts) {
    absl::StrAppend(&relative, relative.empty() ? "" : "/", part);
    absl::StatusOr<std::string> found = files_.Resolve(relative);
    if (absl::IsNotFound(found.status())) {
      const std::string made = absl::StrCat(resolved, "/", part);
      if (mkdir(made.c_str(), 0700) != 0 && errno != EEXIST) return FileWriteError(errno, relative);
      found = files_.Resolve(relative);
    }
    GALEN_RETURN_IF_ERROR(found.status());
    resolved = *std::move(found);
  }
  return absl::StrCat(resolved, "/", name);
}

absl::Status BundleWriter::Write(absl::string_view path, absl::string_view content) const {
  GALEN_ASSIGN_OR_RETURN(std::string place, Prepare(path));
  NewFile file(std::move(place));
  GALEN_RETURN_IF_ERROR(file.Begin());
  GALEN_RETURN_IF_ERROR(file.Append(content));
  return file.Finish();
}

absl::Status BundleWriter::Copy(const std::string& source, absl::string_view path,
                                const std::function<std::string(absl::string_view)>& change) const {
  const std::string shown = CleanText(source, 256);
  const FileDescriptor in(open(source.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!in.is_open()) {
    return errno == ENOENT ? absl::NotFoundError(absl::StrCat(shown, ": no such file"))
                           : absl::ErrnoToStatus(errno, shown);
  }
  struct stat info;
  if (fstat(in.get(), &info) != 0) return absl::ErrnoToStatus(errno, shown);
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(shown, ": is not a regular file"));
  }
  GALEN_ASSIGN_OR_RETURN(std::string place, Prepare(path));
  NewFile file(std::move(place));
  GALEN_RETURN_IF_ERROR(file.Begin());
  std::string block;
  std::string rest;
  while (true) {
    block = std::exchange(rest, "");
    const std::size_t held = block.size();
    block.resize(kBlock);
    const ssize_t n = read(in.get(), block.data() + held, kBlock - held);
    if (n < 0) return absl::ErrnoToStatus(errno, shown);
    block.resize(held + static_cast<std::size_t>(n));
    if (block.empty()) return file.Finish();
    const std::size_t end = n == 0 ? std::string::npos : CutOf(block);
    if (end != std::string::npos) {
      rest = block.substr(end);
      block.resize(end);
    } else if (n != 0 && block.size() < kBlock) {
      rest = std::move(block);
      continue;
    }
    GALEN_RETURN_IF_ERROR(file.Append(change(block)));
  }
}

}  // namespace galen::host
