#ifndef COMMON_REASONER_EXPLAINED_H_
#define COMMON_REASONER_EXPLAINED_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "common/reasoner/belief.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::reasoner {

// The confirmed hypotheses of a list, those that the knowledge has.
std::vector<const galen::v1::Hypothesis*> Confirmed(
    const knowledge::Knowledge& knowledge,
    const google::protobuf::RepeatedPtrField<galen::v1::Hypothesis>& judged);

bool WasJudged(const google::protobuf::RepeatedPtrField<galen::v1::Hypothesis>& judged,
               absl::string_view label);

// The finding is an event that was logged before any event that speaks for `leaf` on that node: it
// is no effect of it.
bool ComesBefore(const Case& the_case, const knowledge::v1::Label& leaf,
                 const galen::v1::Finding& finding, const galen::v1::CheckResult& result);

// `leaf` accounts for the finding: one of its confirm rules is true of it, or it lists the event,
// or it lists a leaf of which a confirm rule is true of it; what it lists does not come before it.
bool Explains(const Case& the_case, const knowledge::v1::Label& leaf,
              const galen::v1::Finding& finding, const galen::v1::CheckResult& result);

// `leaf` accounts for the signal: it, or an effect that it lists, is among the signal's labels.
bool Explains(const Case& the_case, const knowledge::v1::Label& leaf,
              const galen::v1::Signal& signal);

// A refute rule of `leaf` that is true over an abnormal value by which other causes are confirmed:
// what was seen is another fault, which accounts for the signs.
bool NamesAnother(const Case& the_case, const knowledge::v1::Label& leaf, const Entry& refutation);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_EXPLAINED_H_
