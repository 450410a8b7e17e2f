#ifndef COMMON_REASONER_JUDGE_H_
#define COMMON_REASONER_JUDGE_H_

#include "common/knowledge/knowledge.h"
#include "common/reasoner/belief.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::reasoner {

// Is the leaf a cause of this incident? CONFIRMED: it is proven. REJECTED: it is improbable, and a
// check opposes it, or all its signs were searched for and are absent, or a proven cause explains
// all its evidence. Otherwise INCONCLUSIVE. Names the faulty devices if it is confirmed or the
// likeliest of all. Pure.
galen::v1::Verdict Judge(const Case& the_case, const Beliefs& beliefs,
                         const knowledge::v1::Label& leaf);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_JUDGE_H_
