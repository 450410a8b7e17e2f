#ifndef COMMON_LOG_ANALYSIS_SCAN_REQUIRED_LITERALS_H_
#define COMMON_LOG_ANALYSIS_SCAN_REQUIRED_LITERALS_H_

#include <cstddef>
#include <string>
#include <vector>

namespace galen::log_scan {

// A set of lower-case texts such that every match of `pattern` contains at least one of them,
// ignoring case; of all such sets one that is rare in ordinary logs. Each text has at least
// `min_size` bytes. Empty if there is no such set, or if each set has a text that is very common in
// ordinary logs ("loss", "error") and `common_too` is false. Costs about 0.1 ms. Pure.
//
// The sets come from RE2's analysis (re2/filtered_re2.h, as of Russ Cox, "Regular Expression
// Matching with a Trigram Index", 2012).
std::vector<std::string> RequiredLiterals(const std::string& pattern, std::size_t min_size,
                                          bool common_too = false);

}  // namespace galen::log_scan

#endif  // COMMON_LOG_ANALYSIS_SCAN_REQUIRED_LITERALS_H_
