#ifndef COMMON_LOG_ANALYSIS_SCAN_READER_H_
#define COMMON_LOG_ANALYSIS_SCAN_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::log_scan {

// A log file as a stream of text: as it is, or unpacked from gzip or zstd (told by its first bytes,
// not by its name). Memory is constant whatever the size. Not thread-safe.
class LogReader {
 public:
  struct Options {
    // Unpacked bytes after which the text is taken to be over, so that a small file cannot unpack
    // to no end.
    std::int64_t max_bytes = std::int64_t{1} << 40;
  };

  // Regular files only. NOT_FOUND; PERMISSION_DENIED; INVALID_ARGUMENT it is a directory, a pipe or
  // a device. Never blocks on what it opens.
  static absl::StatusOr<std::unique_ptr<LogReader>> Open(const std::string& path, Options options);
  virtual ~LogReader() = default;

  // The next bytes, at most 1 MiB, valid until the next call; empty at the end. DATA_LOSS when
  // the packed form is damaged: what came before it is good.
  virtual absl::StatusOr<absl::string_view> Next() = 0;

  // True when there is more than max_bytes.
  bool truncated() const { return truncated_; }

  // The path of what was opened, without symbolic links.
  const std::string& real_path() const { return real_path_; }

 protected:
  std::string real_path_;
  bool truncated_ = false;
};

}  // namespace galen::log_scan

#endif  // COMMON_LOG_ANALYSIS_SCAN_READER_H_
