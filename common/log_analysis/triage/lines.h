#ifndef COMMON_LOG_ANALYSIS_TRIAGE_LINES_H_
#define COMMON_LOG_ANALYSIS_TRIAGE_LINES_H_

#include <cstddef>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace galen::triage {

// Where the line of `at` begins, and where it ends.
std::size_t LineBegin(absl::string_view block, std::size_t at);
std::size_t LineEnd(absl::string_view block, std::size_t at);

// What a log tells the year by: a stamp in the heads of its first lines that has a year, and fits
// the first stamp.
std::optional<absl::Time> YearOf(absl::string_view block, int lines, std::size_t head);

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_LINES_H_
