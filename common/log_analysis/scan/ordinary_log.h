#ifndef COMMON_LOG_ANALYSIS_SCAN_ORDINARY_LOG_H_
#define COMMON_LOG_ANALYSIS_SCAN_ORDINARY_LOG_H_

#include "absl/strings/string_view.h"

namespace galen::log_scan {

// What programs of the field print while nothing is wrong, in lower case: some lines of each kind.
// It tells which texts are too common to look for. No result depends on it, only speed. Pure.
absl::string_view OrdinaryLog();

}  // namespace galen::log_scan

#endif  // COMMON_LOG_ANALYSIS_SCAN_ORDINARY_LOG_H_
