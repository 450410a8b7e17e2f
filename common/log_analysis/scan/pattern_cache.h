#ifndef COMMON_LOG_ANALYSIS_SCAN_PATTERN_CACHE_H_
#define COMMON_LOG_ANALYSIS_SCAN_PATTERN_CACHE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::log_scan {

// Caches the compiled form of `key` in a file below `directory`, so that the next process need not
// compile it. The file contains the whole key, so a file of another key with the same name is never
// used; it is replaced atomically, so readers see either the old file or the new one.

// NOT_FOUND: no file for `key`; DATA_LOSS: the file is corrupt.
absl::StatusOr<std::string> ReadCached(const std::string& directory, absl::string_view key);

// Creates a missing directory. UNAVAILABLE, with the path: it cannot be written.
absl::Status WriteCached(const std::string& directory, absl::string_view key,
                         absl::string_view value);

// The file that holds `key`.
std::string CachePath(const std::string& directory, absl::string_view key);

}  // namespace galen::log_scan

#endif  // COMMON_LOG_ANALYSIS_SCAN_PATTERN_CACHE_H_
