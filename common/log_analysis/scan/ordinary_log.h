#ifndef COMMON_LOG_ANALYSIS_SCAN_ORDINARY_LOG_H_
#define COMMON_LOG_ANALYSIS_SCAN_ORDINARY_LOG_H_

#include "absl/strings/string_view.h"

namespace galen::log_scan {

// Sample output of healthy programs of the field, in lower case: some lines of each kind. Shows
// which texts are too common to search for. Only speed depends on it, no result does. Pure.
absl::string_view OrdinaryLog();

}  // namespace galen::log_scan

#endif  // COMMON_LOG_ANALYSIS_SCAN_ORDINARY_LOG_H_
