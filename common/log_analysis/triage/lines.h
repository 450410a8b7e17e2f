#ifndef COMMON_LOG_ANALYSIS_TRIAGE_LINES_H_
#define COMMON_LOG_ANALYSIS_TRIAGE_LINES_H_

#include <cstddef>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace galen::triage {

// Begin and end of the line with byte `at`.
std::size_t LineBegin(absl::string_view block, std::size_t at);
std::size_t LineEnd(absl::string_view block, std::size_t at);

// The year of a log: a stamp with a year in the heads of its first lines that fits the first stamp.
std::optional<absl::Time> YearOf(absl::string_view block, int lines, std::size_t head);

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_LINES_H_
