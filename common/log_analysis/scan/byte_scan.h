#ifndef COMMON_LOG_ANALYSIS_SCAN_BYTE_SCAN_H_
#define COMMON_LOG_ANALYSIS_SCAN_BYTE_SCAN_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace galen::log_scan {

// Counts over the bytes of a block of a log.
struct BlockBytes {
  std::size_t newlines = 0;
  bool needs_cleaning = false;  // escapes, carriage returns or NUL bytes
};

// Reads each byte once, at memory speed. Pure.
BlockBytes LookAtBytes(absl::string_view block);

// Pure.
std::size_t CountNewlines(absl::string_view text);

}  // namespace galen::log_scan

#endif  // COMMON_LOG_ANALYSIS_SCAN_BYTE_SCAN_H_
