#include "common/log_analysis/scan/reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace galen::log_scan {
namespace {

constexpr std::size_t kChunk = 1 << 17;
// Minimum size of a read; files of /proc claim to be empty.
constexpr std::size_t kLeastChunk = 1 << 14;

// Small for small logs, which most are.
std::size_t ChunkFor(int fd) {
  struct stat info = {};
  if (fstat(fd, &info) != 0 || info.st_size < 0) return kChunk;
  return std::clamp(static_cast<std::size_t>(info.st_size), kLeastChunk, kChunk);
}

// An open file; closed with the object.
class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File& operator=(File&&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

absl::Status ErrnoStatus(const std::string& path, int error) {
  const std::string message = absl::StrCat(path, ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case ELOOP:
      return absl::PermissionDeniedError(message);
    case ENAMETOOLONG:
      return absl::InvalidArgumentError(message);
    default:
      return absl::UnavailableError(message);
  }
}

class PlainReader final : public LogReader {
 public:
  PlainReader(std::string path, std::string real_path, File file, Options options)
      : path_(std::move(path)), file_(std::move(file)), left_(options.max_bytes) {
    real_path_ = std::move(real_path);
    buffer_.resize(ChunkFor(file_.fd()));
  }

  absl::StatusOr<absl::string_view> Next() override {
    if (truncated_) return absl::string_view();
    FindHole();
    absl::string_view bytes;
    if (position_ < hole_end_) {
      static const std::string* const kZeros = new std::string(kChunk, '\0');
      bytes = absl::string_view(*kZeros).substr(0, static_cast<std::size_t>(hole_end_ - position_));
    } else {
      ssize_t n = 0;
      do {
        n = pread(file_.fd(), buffer_.data(), buffer_.size(), position_);
      } while (n < 0 && errno == EINTR);
      if (n < 0) return ErrnoStatus(path_, errno);
      bytes = absl::string_view(buffer_.data(), static_cast<std::size_t>(n));
    }
    position_ += static_cast<off_t>(bytes.size());
    truncated_ = static_cast<std::int64_t>(bytes.size()) > left_;
    bytes = bytes.substr(0, static_cast<std::size_t>(left_));
    left_ -= static_cast<std::int64_t>(bytes.size());
    return bytes;
  }

 private:
  // A log that was truncated while its writer kept its position begins with a hole, sometimes of
  // gigabytes, which need not be read. If the file system does not report holes, there are none.
  void FindHole() {
    if (position_ < data_end_ || position_ < hole_end_) return;
    struct stat info = {};
    if (fstat(file_.fd(), &info) != 0 || position_ >= info.st_size) return;
    constexpr off_t kBlock = 512;  // of st_blocks, whatever the file system's own (stat(2))
    if (static_cast<off_t>(info.st_blocks) * kBlock >= info.st_size) {
      hole_end_ = position_;
      data_end_ = info.st_size;
      return;
    }
    hole_end_ = lseek(file_.fd(), position_, SEEK_DATA);
    if (hole_end_ < 0) hole_end_ = errno == ENXIO ? info.st_size : position_;
    data_end_ = lseek(file_.fd(), hole_end_, SEEK_HOLE);
    if (data_end_ < 0) data_end_ = info.st_size;
  }

  const std::string path_;
  const File file_;
  std::int64_t left_;
  off_t position_ = 0;
  off_t hole_end_ = 0;  // from position_ on there are zeros up to here
  off_t data_end_ = 0;  // and then data up to here
  std::string buffer_;
};

class PackedReader final : public LogReader {
 public:
  PackedReader(std::string path, std::string real_path, File file, Options options)
      : path_(std::move(path)), file_(std::move(file)), left_(options.max_bytes) {
    real_path_ = std::move(real_path);
    buffer_.resize(kChunk);
  }
  ~PackedReader() override {
    if (archive_ != nullptr) archive_read_free(archive_);
  }

  absl::Status Start() {
    archive_ = archive_read_new();
    if (archive_ == nullptr) return absl::ResourceExhaustedError("libarchive: no memory");
    archive_entry* entry = nullptr;
    if (archive_read_support_filter_gzip(archive_) != ARCHIVE_OK ||
        archive_read_support_filter_zstd(archive_) != ARCHIVE_OK ||
        archive_read_support_format_raw(archive_) != ARCHIVE_OK ||
        archive_read_open_fd(archive_, file_.fd(), kChunk) != ARCHIVE_OK ||
        archive_read_next_header(archive_, &entry) != ARCHIVE_OK) {
      return Damaged();
    }
    return absl::OkStatus();
  }

  absl::StatusOr<absl::string_view> Next() override {
    if (truncated_) return absl::string_view();
    const la_ssize_t n = archive_read_data(archive_, buffer_.data(), buffer_.size());
    if (n < 0) return Damaged();
    truncated_ = n > left_;
    const std::int64_t given = std::min<std::int64_t>(n, left_);
    left_ -= given;
    return absl::string_view(buffer_.data(), static_cast<std::size_t>(given));
  }

 private:
  absl::Status Damaged() const {
    const char* why = archive_error_string(archive_);
    return absl::DataLossError(
        absl::StrCat(path_, ": damaged or cut short: ", why != nullptr ? why : "unknown error"));
  }

  const std::string path_;
  const File file_;
  std::int64_t left_;
  std::string buffer_;
  archive* archive_ = nullptr;
};

bool IsPacked(const File& file) {
  char magic[4] = {};
  const ssize_t n = pread(file.fd(), magic, sizeof(magic), 0);
  const absl::string_view head(magic, n > 0 ? static_cast<std::size_t>(n) : 0);
  return head.substr(0, 2) == "\x1f\x8b" || head == "\x28\xb5\x2f\xfd";
}

// The current path of the open file, even if it was renamed meanwhile.
std::string RealPath(const File& file) {
  std::string path(4096, '\0');
  const std::string link = absl::StrCat("/proc/self/fd/", file.fd());
  const ssize_t n = readlink(link.c_str(), path.data(), path.size());
  path.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return path;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LogReader>> LogReader::Open(const std::string& path,
                                                           Options options) {
  // Without O_NONBLOCK, opening a pipe that nobody writes to never returns.
  File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.fd() < 0) return ErrnoStatus(path, errno);
  struct stat info = {};
  if (fstat(file.fd(), &info) != 0) return ErrnoStatus(path, errno);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": not a regular file; name a file that holds the log"));
  }
  std::string real_path = RealPath(file);
  if (!IsPacked(file)) {
    return std::make_unique<PlainReader>(path, std::move(real_path), std::move(file), options);
  }
  auto reader =
      std::make_unique<PackedReader>(path, std::move(real_path), std::move(file), options);
  absl::Status started = reader->Start();
  if (!started.ok()) return started;
  return reader;
}

}  // namespace galen::log_scan
