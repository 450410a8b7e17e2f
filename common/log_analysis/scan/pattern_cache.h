#ifndef COMMON_LOG_ANALYSIS_SCAN_PATTERN_CACHE_H_
#define COMMON_LOG_ANALYSIS_SCAN_PATTERN_CACHE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::log_scan {

// Keeps what was compiled from `key` in a file below `directory`, so that the next process need not
// compile it. The file holds the whole key, so one that another key left under the same name is
// never taken for ours; it is replaced atomically, so readers see an old file or a new one.

// NOT_FOUND when there is no file for `key`; DATA_LOSS when there is one that cannot be used.
absl::StatusOr<std::string> ReadCached(const std::string& directory, absl::string_view key);

// Makes the directory when it is missing. UNAVAILABLE, with the path, when it cannot be written.
absl::Status WriteCached(const std::string& directory, absl::string_view key,
                         absl::string_view value);

// The file that holds `key`.
std::string CachePath(const std::string& directory, absl::string_view key);

}  // namespace galen::log_scan

#endif  // COMMON_LOG_ANALYSIS_SCAN_PATTERN_CACHE_H_
