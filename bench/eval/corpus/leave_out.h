#ifndef BENCH_EVAL_CORPUS_LEAVE_OUT_H_
#define BENCH_EVAL_CORPUS_LEAVE_OUT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "galen/eval/v1/eval.pb.h"
#include "galen/knowledge/v1/knowledge.pb.h"

namespace galen::eval {

// Two texts describe the same incident if they share at least this fraction of three-word runs,
// measured against the shorter text. None of the 5,151 pairs of different incidents in the
// development set reaches 0.35 (the closest ones share a polite last sentence).
inline constexpr double kSameText = 0.5;

// The fraction, 0 to 1, of the shorter text that is also in the other one, measured in runs of
// three words without regard to case and punctuation. 0 if one of them is shorter than eight words.
// Pure.
double Overlap(absl::string_view a, absl::string_view b);

// The page that a source means, whichever way it is written: no scheme, no "www.", no fragment, no
// slash at the end, lower case. Comments of one thread are one page, and a GitHub thread is the
// same by its address and as "owner/name#17". Pure.
std::string SourcePage(absl::string_view address);

// A past incident that a case must not see.
struct LeftOut {
  std::string id;
  std::string reason;
};

// Removes from `incidents` those that would reveal the answer of `a_case`: the incident itself
// (same id), others of the same source, and near-duplicates of its text. `ticket` is the
// description as the system under test gets it, whose wording may differ from the case's record.
// With `hide_labels`, also every incident of those labels. Pure.
std::vector<LeftOut> LeaveOut(
    const v1::Case& a_case, absl::string_view ticket, const std::vector<std::string>& hide_labels,
    google::protobuf::RepeatedPtrField<knowledge::v1::PastIncident>& incidents);

}  // namespace galen::eval

#endif  // BENCH_EVAL_CORPUS_LEAVE_OUT_H_
