#include "common/incident_history/append_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/incident_history/checksum.h"
#include "common/incident_history/segment_format.h"

namespace galen::incident_history {
namespace {

// A file is kMagic and records: u32 length, u32 checksum of the body, and a body of that length.
constexpr absl::string_view kMagic = "GALENLOG1\n\n\n\n\n\n\n";
constexpr size_t kRecordHeader = 8;
constexpr std::uint32_t kMostRecordBytes =
    2 * (kMaxDocumentBytes + kMaxIdBytes) + format::kMaxDimensions + 256;

void PutNumber(std::uint32_t number, std::string& to) {
  to.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

std::uint32_t Number(absl::string_view at) {
  std::uint32_t number = 0;
  std::memcpy(&number, at.data(), sizeof(number));
  return number;
}

void PutText(absl::string_view text, std::string& to) {
  PutNumber(static_cast<std::uint32_t>(text.size()), to);
  to.append(text.data(), text.size());
}

bool TakeText(absl::string_view& from, size_t most, std::string& text) {
  if (from.size() < 4) return false;
  const std::uint32_t size = Number(from);
  from.remove_prefix(4);
  if (size > most || size > from.size()) return false;
  text.assign(from.data(), size);
  from.remove_prefix(size);
  return true;
}

absl::Status Failed(const std::string& path, absl::string_view what) {
  return absl::ErrnoToStatus(errno, absl::StrCat(path, ": ", what));
}

absl::Status WriteAt(int fd, absl::string_view bytes, std::uint64_t at) {
  while (!bytes.empty()) {
    const ssize_t done = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return absl::ErrnoToStatus(errno, "write");
    bytes.remove_prefix(static_cast<size_t>(done));
    at += static_cast<std::uint64_t>(done);
  }
  return absl::OkStatus();
}

}  // namespace

std::string EncodeRecent(const Recent& recent) {
  std::string bytes;
  PutText(recent.document.id, bytes);
  PutText(recent.document.label, bytes);
  PutText(recent.document.text, bytes);
  PutText(recent.document.payload, bytes);
  PutText(recent.embedder, bytes);
  PutText({reinterpret_cast<const char*>(recent.vector.values.data()), recent.vector.values.size()},
          bytes);
  std::uint32_t scale = 0;
  std::memcpy(&scale, &recent.vector.scale, sizeof(scale));
  PutNumber(scale, bytes);
  return bytes;
}

absl::StatusOr<Recent> DecodeRecent(absl::string_view bytes) {
  Recent recent;
  std::string values;
  if (!TakeText(bytes, kMaxIdBytes, recent.document.id) || recent.document.id.empty() ||
      !TakeText(bytes, kMaxIdBytes, recent.document.label) ||
      !TakeText(bytes, kMaxDocumentBytes, recent.document.text) ||
      !TakeText(bytes, kMaxDocumentBytes, recent.document.payload) ||
      !TakeText(bytes, format::kEmbedderBytes, recent.embedder) ||
      !TakeText(bytes, format::kMaxDimensions, values) || bytes.size() != sizeof(std::uint32_t)) {
    return absl::DataLossError("the record contradicts itself");
  }
  const std::uint32_t scale = Number(bytes);
  std::memcpy(&recent.vector.scale, &scale, sizeof(scale));
  if (!std::isfinite(recent.vector.scale)) {
    return absl::DataLossError("the record's vector is invalid");
  }
  recent.vector.values.assign(values.begin(), values.end());
  recent.analysis = Analyse(recent.document.text);
  return recent;
}

absl::StatusOr<std::uint64_t> ReadLog(absl::string_view bytes, const std::string& name,
                                      const std::function<absl::Status(Recent)>& use) {
  constexpr absl::string_view kRemedy =
      "; restore the file from a copy, or move it away: what was confirmed since the index beside "
      "it was written is then missing";
  if (bytes.size() < kMagic.size()) {
    // Cut off while it was created: nothing was in it.
    if (absl::string_view(kMagic).substr(0, bytes.size()) == bytes) return std::uint64_t{0};
    return absl::DataLossError(absl::StrCat(name, ": is not a log of past incidents", kRemedy));
  }
  if (bytes.substr(0, kMagic.size()) != kMagic) {
    return absl::DataLossError(absl::StrCat(name, ": is not a log of past incidents", kRemedy));
  }
  size_t at = kMagic.size();
  while (at < bytes.size()) {
    const absl::string_view rest = bytes.substr(at);
    const bool zeros = std::all_of(rest.begin(), rest.end(), [](char c) { return c == 0; });
    if (rest.size() < kRecordHeader || zeros) break;  // cut off
    const std::uint32_t size = Number(rest);
    const std::uint32_t crc = Number(rest.substr(4));
    if (size <= kMostRecordBytes && size > rest.size() - kRecordHeader) break;  // cut off
    const bool sound = size <= kMostRecordBytes && Crc32c(rest.substr(kRecordHeader, size)) == crc;
    if (!sound && size <= kMostRecordBytes && size == rest.size() - kRecordHeader) break;  // torn
    if (!sound) {
      return absl::DataLossError(
          absl::StrCat(name, ": the record at byte ", at, " is damaged", kRemedy));
    }
    absl::StatusOr<Recent> recent = DecodeRecent(rest.substr(kRecordHeader, size));
    if (!recent.ok()) {
      return absl::DataLossError(absl::StrCat(name, ": the record at byte ", at, ": ",
                                              recent.status().message(), kRemedy));
    }
    GALEN_RETURN_IF_ERROR(use(*std::move(recent)));
    at += kRecordHeader + size;
  }
  return std::uint64_t{at};
}

absl::StatusOr<std::unique_ptr<AppendLog>> AppendLog::Create(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return Failed(path, "cannot be created");
  std::unique_ptr<AppendLog> log(new AppendLog(path, fd, kMagic.size()));
  if (!WriteAt(fd, kMagic, 0).ok() || fsync(fd) != 0) return Failed(path, "cannot be written");
  return log;
}

absl::StatusOr<std::unique_ptr<AppendLog>> AppendLog::Open(
    const std::string& path, const std::function<absl::Status(Recent)>& use) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) {
    return absl::NotFoundError(absl::StrCat(path, ": there is no such file"));
  }
  if (fd < 0) return Failed(path, "cannot be opened");
  std::unique_ptr<AppendLog> log(new AppendLog(path, fd, 0));
  struct stat status {};
  if (fstat(fd, &status) != 0) return Failed(path, "cannot be read");
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t done = pread(fd, bytes.data() + got, bytes.size() - got, static_cast<off_t>(got));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return Failed(path, "cannot be read");
    if (done == 0) break;
    got += static_cast<size_t>(done);
  }
  bytes.resize(got);
  GALEN_ASSIGN_OR_RETURN(log->bytes_, ReadLog(bytes, path, use));
  if (log->bytes_ < kMagic.size()) {
    if (!WriteAt(fd, kMagic, 0).ok()) return Failed(path, "cannot be written");
    log->bytes_ = kMagic.size();
  }
  if (log->bytes_ != bytes.size()) {
    if (ftruncate(fd, static_cast<off_t>(log->bytes_)) != 0 || fsync(fd) != 0) {
      return Failed(path, "cannot be shortened to what is sound");
    }
  }
  return log;
}

AppendLog::~AppendLog() { close(fd_); }

absl::Status AppendLog::Append(absl::Span<const Recent* const> recent) {
  std::string bytes;
  for (const Recent* each : recent) {
    const std::string record = EncodeRecent(*each);
    PutNumber(static_cast<std::uint32_t>(record.size()), bytes);
    PutNumber(Crc32c(record), bytes);
    bytes += record;
  }
  // Written where the last acknowledged record ends: over what a failed call may have left.
  const absl::Status written = WriteAt(fd_, bytes, bytes_);
  if (!written.ok() || fdatasync(fd_) != 0) {
    const absl::Status failed = Failed(path_, "cannot be written; nothing was added");
    if (ftruncate(fd_, static_cast<off_t>(bytes_)) != 0) return failed;
    return failed;
  }
  bytes_ += bytes.size();
  return absl::OkStatus();
}

}  // namespace galen::incident_history
