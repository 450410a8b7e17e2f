#ifndef COMMON_LOG_ANALYSIS_SCAN_READER_H_
#define COMMON_LOG_ANALYSIS_SCAN_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::log_scan {

// A log file as a stream of text: plain, or unpacked from gzip or zstd (detected by its first
// bytes, not by its name). Memory is constant for any size. Not thread-safe.
class LogReader {
 public:
  struct Options {
    // Limit of unpacked bytes, so that a small file cannot unpack without end.
    std::int64_t max_bytes = std::int64_t{1} << 40;
  };

  // Regular files only. NOT_FOUND; PERMISSION_DENIED; INVALID_ARGUMENT it is a directory, a pipe or
  // a device. Opening never blocks.
  static absl::StatusOr<std::unique_ptr<LogReader>> Open(const std::string& path, Options options);
  virtual ~LogReader() = default;

  // The next bytes, at most 1 MiB, valid until the next call; empty at the end. DATA_LOSS: the
  // packed form is corrupt; bytes returned before are valid.
  virtual absl::StatusOr<absl::string_view> Next() = 0;

  // True when there is more than max_bytes.
  bool truncated() const { return truncated_; }

  // The path of the opened file, without symbolic links.
  const std::string& real_path() const { return real_path_; }

 protected:
  std::string real_path_;
  bool truncated_ = false;
};

}  // namespace galen::log_scan

#endif  // COMMON_LOG_ANALYSIS_SCAN_READER_H_
