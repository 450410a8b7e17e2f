#ifndef COMMON_REASONER_RANK_H_
#define COMMON_REASONER_RANK_H_

#include "common/reasoner/judge.h"
#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::reasoner {

// Orders the offered choices by what the signals and the check results so far say of the leaves
// below each, and prunes those that nothing speaks for. Every choice stands in the answer once.
//
// Pruned: a choice that nothing points to, once something points elsewhere (for a branch: a
// decisive signal or an abnormal finding); a choice that nothing points to, that is rare and not
// cheap to check. Never pruned: a choice below which a strong signal or an abnormal finding is not
// refuted, and a choice that the checks have refuted: it stands last, and its verdict costs
// nothing. Unknown labels are pruned. Pure.
v1::RankAnswer Rank(const Case& the_case, const v1::RankQuestion& question);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_RANK_H_
