#ifndef BENCH_EVAL_SUITE_DRAFTS_VALUE_PATTERN_H_
#define BENCH_EVAL_SUITE_DRAFTS_VALUE_PATTERN_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "bench/eval/suite/drafts/condition.h"

namespace galen::drafts {

// The place of a check's value in the text of the source.
struct ValuePlace {
  std::string field;       // its name; "" none
  std::string section;     // the heading above it; "" none
  int column = 0;          // 1 and up; 0: not given, -1: the last
  bool bracketed = false;  // in square brackets
};

// Patterns of RE2 that may extract the value from the text, the most careful first; with
// `critique`, those that are not misled by a name within another name. Never empty. Pure.
std::vector<std::string> ValuePatterns(const ValuePlace& place, const Condition& condition,
                                       bool critique);

// The same for a text that must be present or absent. Pure.
std::vector<std::string> PresencePatterns(const std::string& text, bool critique);

// Words with any spaces between them, as a pattern. Pure.
std::string SpacedPattern(absl::string_view text);

}  // namespace galen::drafts

#endif  // BENCH_EVAL_SUITE_DRAFTS_VALUE_PATTERN_H_
