#ifndef COMMON_LOG_ANALYSIS_SCAN_LINE_TEXT_H_
#define COMMON_LOG_ANALYSIS_SCAN_LINE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace galen::log_scan {

// Result of Normalize().
struct Normalized {
  std::size_t size = 0;           // bytes left, from the start of the block
  std::int64_t binary_lines = 0;  // lines with NUL bytes
  bool ends_in_binary = false;    // the last line, still unfinished, has NUL bytes
};

// Prepares a block of a log for matching, in place: drops terminal escape sequences, the carriage
// return of "\r\n", and NUL bytes (left by a truncated log, or by UTF-16). A carriage return at the
// very end is dropped only if `last`. Newlines stay, so lines keep their numbers. `in_binary`: the
// first line began in an earlier block and has NUL bytes there. Pure except for `block`.
Normalized Normalize(char* block, std::size_t size, bool last, bool in_binary);

// True when a line is data rather than text: a third of its first kilobyte is control characters or
// not UTF-8. Pure.
bool IsBinary(absl::string_view line);

// The part of `line` to show for a match that ends at byte `match_end` of it: all of a short line,
// otherwise the text before and in the match. Cleaned, at most `max_bytes`. Pure.
std::string Excerpt(absl::string_view line, std::size_t match_end, std::size_t max_bytes);

}  // namespace galen::log_scan

#endif  // COMMON_LOG_ANALYSIS_SCAN_LINE_TEXT_H_
