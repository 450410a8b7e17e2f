#ifndef COMMON_REASONER_JUDGE_H_
#define COMMON_REASONER_JUDGE_H_

#include "common/knowledge/knowledge.h"
#include "common/reasoner/belief.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::reasoner {

// Is the leaf a cause of this incident? CONFIRMED when it is proven; REJECTED when it is improbable
// and a check speaks against it, what it would show was looked for everywhere and not seen, or a
// proven cause accounts for all that was seen of it; else INCONCLUSIVE. Says on which devices it
// sits where it is confirmed or the likeliest of all. Pure.
galen::v1::Verdict Judge(const Case& the_case, const Beliefs& beliefs,
                         const knowledge::v1::Label& leaf);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_JUDGE_H_
