#ifndef COMMON_INCIDENT_HISTORY_APPEND_LOG_H_
#define COMMON_INCIDENT_HISTORY_APPEND_LOG_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/incident_history/view.h"

namespace galen::incident_history {

// Recent documents on disk, one record after the other, each with its checksum. A record that was
// cut off at the end of the file was never acknowledged: it is dropped. A damaged record with
// others behind it is an error. Not thread-safe.
class AppendLog {
 public:
  // Creates the file, which must not exist, and makes it durable.
  static absl::StatusOr<std::unique_ptr<AppendLog>> Create(const std::string& path);
  // Gives every record of an existing file to `use`, drops what is cut off at its end, and is ready
  // to append. Errors: NOT_FOUND; DATA_LOSS with what to do; those of `use`.
  static absl::StatusOr<std::unique_ptr<AppendLog>> Open(
      const std::string& path, const std::function<absl::Status(Recent)>& use);
  ~AppendLog();
  AppendLog(const AppendLog&) = delete;
  AppendLog& operator=(const AppendLog&) = delete;

  // All of them are on the disk when it returns OK. After an error none of them is, and the caller
  // may call again.
  absl::Status Append(absl::Span<const Recent* const> recent);

  // Bytes of the acknowledged records.
  std::uint64_t bytes() const { return bytes_; }

 private:
  AppendLog(std::string path, int fd, std::uint64_t bytes)
      : path_(std::move(path)), fd_(fd), bytes_(bytes) {}

  const std::string path_;
  const int fd_;
  std::uint64_t bytes_;
};

// A document as one record, and back: `bytes` is the part between its length and its checksum.
// DATA_LOSS when it is inconsistent. Pure.
std::string EncodeRecent(const Recent& recent);
absl::StatusOr<Recent> DecodeRecent(absl::string_view bytes);

// Reads all records of `bytes`, a whole file named `name`; returns the length of the sound part.
absl::StatusOr<std::uint64_t> ReadLog(absl::string_view bytes, const std::string& name,
                                      const std::function<absl::Status(Recent)>& use);

}  // namespace galen::incident_history

#endif  // COMMON_INCIDENT_HISTORY_APPEND_LOG_H_
