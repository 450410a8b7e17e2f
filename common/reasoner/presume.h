#ifndef COMMON_REASONER_PRESUME_H_
#define COMMON_REASONER_PRESUME_H_

#include "common/reasoner/belief.h"
#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::reasoner {

// The likeliest causes at once: ordered by priors and signals (rank.h), weighted by `similar` past
// incidents. A cause that neither a signal nor a past incident points to is not named, even if it
// is common; each cause cites the evidence that points to it. Its probability is its share among
// all choices. Pure.
v1::PresumeAnswer Presume(const Case& the_case, const v1::PresumeQuestion& question,
                          const v1::HistoryAnswer& similar);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_PRESUME_H_
