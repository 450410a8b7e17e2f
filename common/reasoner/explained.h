#ifndef COMMON_REASONER_EXPLAINED_H_
#define COMMON_REASONER_EXPLAINED_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "common/reasoner/belief.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::reasoner {

// The confirmed hypotheses of a list whose labels are in the knowledge.
std::vector<const galen::v1::Hypothesis*> Confirmed(
    const knowledge::Knowledge& knowledge,
    const google::protobuf::RepeatedPtrField<galen::v1::Hypothesis>& judged);

bool WasJudged(const google::protobuf::RepeatedPtrField<galen::v1::Hypothesis>& judged,
               absl::string_view label);

// Whether the finding is an event that was logged before any event that supports `leaf` on that
// node: then it is not an effect of `leaf`.
bool ComesBefore(const Case& the_case, const knowledge::v1::Label& leaf,
                 const galen::v1::Finding& finding, const galen::v1::CheckResult& result);

// Whether `leaf` explains the finding: the finding satisfies one of its confirm rules, or a confirm
// rule of a leaf that it lists, or is an event that it lists. A listed effect must not come before
// `leaf`.
bool Explains(const Case& the_case, const knowledge::v1::Label& leaf,
              const galen::v1::Finding& finding, const galen::v1::CheckResult& result);

// Whether `leaf` explains the signal: it, or an effect that it lists, is among the signal's labels.
bool Explains(const Case& the_case, const knowledge::v1::Label& leaf,
              const galen::v1::Signal& signal);

// Whether a true refute rule of `leaf` is over an abnormal value that confirms other causes: then
// another fault was seen, which explains the signs.
bool NamesAnother(const Case& the_case, const knowledge::v1::Label& leaf, const Entry& refutation);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_EXPLAINED_H_
