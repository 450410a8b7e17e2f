#ifndef COMMON_REASONER_RANK_H_
#define COMMON_REASONER_RANK_H_

#include "common/reasoner/belief.h"
#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::reasoner {

// Orders the offered choices by the probability of the leaves below each, and prunes those that are
// not worth a search. The answer has every choice once.
//
// Pruned: a choice that is improbable while another one is likely; a rare choice that nothing
// points to and that is not cheap to check. Never pruned: a choice that the checks have refuted: it
// comes last, and its verdict costs nothing. Unknown labels are pruned. Pure.
v1::RankAnswer Rank(const Case& the_case, const v1::RankQuestion& question);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_RANK_H_
