#ifndef COMMON_LOG_ANALYSIS_SCAN_REQUIRED_LITERALS_H_
#define COMMON_LOG_ANALYSIS_SCAN_REQUIRED_LITERALS_H_

#include <cstddef>
#include <string>
#include <vector>

namespace galen::log_scan {

// Texts of which every match of `pattern` holds at least one, in lower case, whatever the case in
// which the match has them: of all such sets one that ordinary logs rarely hold. Each has
// `min_size` bytes or more. Empty when there is no such set, or when each has a text that ordinary
// logs are full of ("loss", "error") and `common_too` is false. Costs some 0.1 ms. Pure.
//
// The sets come from RE2's analysis (re2/filtered_re2.h, as of Russ Cox, "Regular Expression
// Matching with a Trigram Index", 2012).
std::vector<std::string> RequiredLiterals(const std::string& pattern, std::size_t min_size,
                                          bool common_too = false);

}  // namespace galen::log_scan

#endif  // COMMON_LOG_ANALYSIS_SCAN_REQUIRED_LITERALS_H_
