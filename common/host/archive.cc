#include "common/host/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/base/text.h"
#include "common/host/bundle_files.h"
#include "common/host/file_descriptor.h"

namespace galen::host {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kRemedy = "pack the bundle again";
constexpr std::size_t kReadBlock = 65536;
// The limit of Linux (path_resolution(7)).
constexpr int kMostLinks = 40;

struct FreeArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
};

absl::Status Damaged(archive* reader, absl::string_view name) {
  const char* const detail = archive_error_string(reader);
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": is cut off, damaged or no archive (",
                   CleanText(detail == nullptr ? "no detail" : detail, 120),
                   "); give a directory, or a .tar.gz, .tar.zst or .zip of one"));
}

absl::Status WriteError(int error, absl::string_view name) {
  if (error == ENOSPC || error == EDQUOT) {
    return absl::ResourceExhaustedError(absl::StrCat(
        name, ": no space left for unpacking; set TMPDIR to a larger disk or unpack it yourself"));
  }
  return absl::ErrnoToStatus(error, absl::StrCat(name, ": unpacking"));
}

// The parts of `path` without "." and empty ones. `..` removes one; false: it leaves the top.
bool Normalize(absl::string_view path, std::vector<absl::string_view>& parts) {
  for (const absl::string_view part : absl::StrSplit(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (parts.empty()) {
      return false;
    } else {
      parts.pop_back();
    }
  }
  return true;
}

// Unpacks one archive. Links are made last, so that no file is ever written through one.
class Unpacker {
 public:
  Unpacker(archive* reader, std::string name, std::string directory, const ArchiveLimits& limits)
      : reader_(reader),
        name_(std::move(name)),
        directory_(std::move(directory)),
        limits_(limits),
        until_(SteadyNow() + limits.time) {}

  absl::Status Run() {
    while (true) {
      archive_entry* entry = nullptr;
      const int code = archive_read_next_header(reader_, &entry);
      if (code == ARCHIVE_EOF) break;
      if (code < ARCHIVE_WARN) return Damaged(reader_, name_);
      GALEN_RETURN_IF_ERROR(Take(entry));
    }
    for (const auto& [path, target] : hard_links_) {
      if (link(target.c_str(), path.c_str()) != 0) return WriteError(errno, name_);
    }
    for (const auto& [path, target] : symbolic_links_) {
      GALEN_RETURN_IF_ERROR(StaysInside(path));
    }
    for (const auto& [path, target] : symbolic_links_) {
      const std::string place = absl::StrCat(directory_, "/", path);
      if (symlink(target.c_str(), place.c_str()) == 0) continue;
      if (errno == EEXIST) return Refused(path, "is there twice");
      return WriteError(errno, name_);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Refused(absl::string_view entry, absl::string_view why) const {
    return absl::InvalidArgumentError(
        absl::StrCat(name_, ": entry \"", CleanText(entry, 160), "\" ", why, "; ", kRemedy));
  }

  // The place of an entry below the directory; empty for the directory itself.
  absl::StatusOr<std::string> Place(absl::string_view path) const {
    if (absl::StartsWith(path, "/")) return Refused(path, "has an absolute path");
    if (absl::StrContains(path, "\\")) return Refused(path, "has a backslash in its path");
    for (const absl::string_view part : absl::StrSplit(path, '/')) {
      if (part == "..") return Refused(path, "leaves the archive by \"..\"");
    }
    std::vector<absl::string_view> parts;
    Normalize(path, parts);
    if (parts.size() > static_cast<std::size_t>(limits_.depth)) {
      return absl::ResourceExhaustedError(absl::StrCat(name_, ": entry \"", CleanText(path, 160),
                                                       "\" lies more than ", limits_.depth,
                                                       " directories deep; ", kRemedy));
    }
    return parts.empty() ? std::string() : absl::StrCat(directory_, "/", absl::StrJoin(parts, "/"));
  }

  absl::Status Take(archive_entry* entry) {
    const char* raw = archive_entry_pathname_utf8(entry);
    if (raw == nullptr) raw = archive_entry_pathname(entry);
    if (raw == nullptr) return Refused("", "has no readable name");
    const std::string path = raw;
    GALEN_RETURN_IF_ERROR(InTime());
    GALEN_ASSIGN_OR_RETURN(const std::string place, Place(path));
    if (place.empty()) return absl::OkStatus();
    std::string parent = fs::path(place).parent_path().string();
    if (parent != last_parent_) {
      GALEN_RETURN_IF_ERROR(MakeDirectory(path, parent));
      last_parent_ = std::move(parent);
    }
    if (const char* const target = archive_entry_hardlink(entry)) {
      GALEN_RETURN_IF_ERROR(Charge());
      GALEN_ASSIGN_OR_RETURN(std::string source, Place(target));
      hard_links_.emplace_back(place, std::move(source));
      return absl::OkStatus();
    }
    switch (archive_entry_filetype(entry)) {
      case AE_IFDIR:
        return MakeDirectory(path, place);
      case AE_IFLNK:
        GALEN_RETURN_IF_ERROR(Charge());
        return TakeLink(path, archive_entry_symlink(entry));
      case AE_IFREG:
        return TakeFile(path, place, entry);
      default:
        return Refused(path, "is neither a file nor a directory");
    }
  }

  // One more file, directory or link.
  absl::Status Charge() {
    bytes_ += kInodeBytes;
    if (++files_ > limits_.files) {
      return absl::ResourceExhaustedError(
          absl::StrCat(name_, ": holds more than ", limits_.files,
                       " files, links and directories; leave out what the incident does not need"));
    }
    return bytes_ > limits_.bytes ? TooLarge() : absl::OkStatus();
  }

  absl::Status InTime() const {
    if (SteadyNow() < until_) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat(name_, ": takes longer to unpack than ", absl::FormatDuration(limits_.time),
                     "; leave out what the incident does not need"));
  }

  // Creates the directory `place` with its parents; `path` is the entry that needs it. No links
  // exist yet that it could pass through.
  absl::Status MakeDirectory(absl::string_view path, const std::string& place) {
    if (place.size() <= directory_.size()) return absl::OkStatus();
    int made = mkdir(place.c_str(), 0700);
    if (made != 0 && errno == ENOENT) {
      GALEN_RETURN_IF_ERROR(MakeDirectory(path, fs::path(place).parent_path().string()));
      made = mkdir(place.c_str(), 0700);
    }
    if (made == 0) return Charge();
    if (errno == ENAMETOOLONG) return Refused(path, "has too long a name");
    struct stat there {};
    if (errno == ENOTDIR ||
        (errno == EEXIST && lstat(place.c_str(), &there) == 0 && !S_ISDIR(there.st_mode))) {
      return Refused(path, "lies below a file");
    }
    return errno == EEXIST ? absl::OkStatus() : WriteError(errno, name_);
  }

  absl::Status TakeLink(const std::string& path, const char* target) {
    std::vector<absl::string_view> parts;
    Normalize(path, parts);
    std::string link = absl::StrJoin(parts, "/");
    if (target == nullptr || *target == '\0' || *target == '/') {
      return Refused(path, "is a link that leaves the archive");
    }
    if (!symbolic_links_.emplace(std::move(link), target).second) {
      return Refused(path, "is there twice");
    }
    return absl::OkStatus();
  }

  // Follows a link, and each further link on the way, as the kernel would once all exist.
  absl::Status StaysInside(const std::string& link) const {
    std::deque<std::string> ahead = absl::StrSplit(link, '/');
    std::vector<std::string> at;
    for (int links = 0; !ahead.empty();) {
      const std::string part = std::move(ahead.front());
      ahead.pop_front();
      if (part.empty() || part == ".") continue;
      if (part == "..") {
        if (at.empty()) return Refused(link, "is a link that leaves the archive");
        at.pop_back();
        continue;
      }
      at.push_back(part);
      const auto next = symbolic_links_.find(absl::StrJoin(at, "/"));
      if (next == symbolic_links_.end()) continue;
      if (++links > kMostLinks) return Refused(link, "is a link that leads through too many links");
      at.pop_back();
      const std::vector<std::string> parts = absl::StrSplit(next->second, '/');
      ahead.insert(ahead.begin(), parts.begin(), parts.end());
    }
    return absl::OkStatus();
  }

  absl::Status TakeFile(const std::string& path, const std::string& place, archive_entry* entry) {
    if (archive_entry_size_is_set(entry) != 0 &&
        archive_entry_size(entry) > limits_.bytes - bytes_) {
      return TooLarge();
    }
    const FileDescriptor file(
        open(place.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.is_open()) {
      if (errno == EEXIST || errno == EISDIR) return Refused(path, "is there twice");
      if (errno == ENAMETOOLONG) return Refused(path, "has too long a name");
      return WriteError(errno, name_);
    }
    GALEN_RETURN_IF_ERROR(Charge());
    std::int64_t end = 0;
    while (true) {
      const void* data = nullptr;
      std::size_t size = 0;
      la_int64_t offset = 0;
      const int code = archive_read_data_block(reader_, &data, &size, &offset);
      if (code == ARCHIVE_EOF) break;
      if (code < ARCHIVE_WARN) return Damaged(reader_, name_);
      GALEN_RETURN_IF_ERROR(InTime());
      if (offset < 0 || offset > limits_.bytes) return TooLarge();
      end = std::max(end, static_cast<std::int64_t>(offset) + static_cast<std::int64_t>(size));
      if (end > limits_.bytes - bytes_) return TooLarge();
      GALEN_RETURN_IF_ERROR(WriteAt(file, static_cast<const char*>(data), size, offset));
    }
    bytes_ += end;
    return absl::OkStatus();
  }

  absl::Status TooLarge() const {
    return absl::ResourceExhaustedError(
        absl::StrCat(name_, ": unpacks to more than ", limits_.bytes,
                     " bytes; leave out what the incident does not need"));
  }

  absl::Status WriteAt(const FileDescriptor& file, const char* data, std::size_t size,
                       std::int64_t offset) const {
    while (size > 0) {
      const ssize_t n = pwrite(file.get(), data, size, offset);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return WriteError(errno, name_);
      data += n;
      size -= static_cast<std::size_t>(n);
      offset += n;
    }
    return absl::OkStatus();
  }

  archive* const reader_;
  const std::string name_;
  const std::string directory_;
  const ArchiveLimits limits_;
  const absl::Time until_;
  std::int64_t files_ = 0;
  std::int64_t bytes_ = 0;
  std::string last_parent_;  // already created; entries of a directory are usually consecutive
  std::vector<std::pair<std::string, std::string>> hard_links_;
  // Targets by the link's path from the top, without "." and "..".
  std::map<std::string, std::string> symbolic_links_;
};

}  // namespace

absl::StatusOr<TemporaryDirectory> TemporaryDirectory::Create() {
  const char* const base = std::getenv("TMPDIR");
  std::string path =
      absl::StrCat(base == nullptr || *base == '\0' ? "/tmp" : base, "/galen-bundle-XXXXXX");
  if (mkdtemp(path.data()) == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat(path, ": making a temporary directory"));
  }
  return TemporaryDirectory(path);
}

TemporaryDirectory::~TemporaryDirectory() {
  if (path_.empty()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory&& other) noexcept
    : path_(std::exchange(other.path_, "")) {}

TemporaryDirectory& TemporaryDirectory::operator=(TemporaryDirectory&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

absl::Status Unpack(const std::string& archive_path, const std::string& directory,
                    const ArchiveLimits& limits) {
  const std::unique_ptr<archive, FreeArchive> reader(archive_read_new());
  if (reader == nullptr) return absl::ResourceExhaustedError("no memory for reading an archive");
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_filter_zstd(reader.get());
  archive_read_support_format_tar(reader.get());
  archive_read_support_format_zip(reader.get());
  const std::string name = CleanText(archive_path, 256);
  if (archive_read_open_filename(reader.get(), archive_path.c_str(), kReadBlock) != ARCHIVE_OK) {
    const int error = archive_errno(reader.get());
    if (error == ENOENT) return absl::NotFoundError(absl::StrCat(name, ": no such file"));
    if (error == EACCES)
      return absl::PermissionDeniedError(absl::StrCat(name, ": may not be read"));
    return Damaged(reader.get(), name);
  }
  try {
    return Unpacker(reader.get(), name, directory, limits).Run();
  } catch (const std::exception& error) {
    return absl::ResourceExhaustedError(absl::StrCat(name, ": ", CleanText(error.what(), 120)));
  }
}

}  // namespace galen::host
