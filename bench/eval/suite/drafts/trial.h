#ifndef BENCH_EVAL_SUITE_DRAFTS_TRIAL_H_
#define BENCH_EVAL_SUITE_DRAFTS_TRIAL_H_

#include <string>

#include "absl/strings/string_view.h"
#include "bench/eval/suite/drafts/condition.h"
#include "bench/eval/suite/drafts/draft_check.h"

namespace galen::drafts {

enum class Trial { kNoValue, kAgrees, kContradicts };

// The result of a finding with `pattern` on the shown output, at fault by `condition` with `bound`
// in place of its value. Pure.
Trial Try(const std::string& pattern, const Condition& condition, const std::string& bound,
          const ShownOutput& shown);

// The bound of `condition` in the unit of the source: "8388608" for 8 GiB if the source counts in
// kB, according to the line of `field` in `shown`, or to `lower`, the description in lower case.
// Unchanged if no unit is given. Pure.
std::string BoundInUnitOf(absl::string_view shown, const std::string& field,
                          const std::string& lower, const Condition& condition,
                          const DescriptionWords& words);

}  // namespace galen::drafts

#endif  // BENCH_EVAL_SUITE_DRAFTS_TRIAL_H_
