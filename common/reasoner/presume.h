#ifndef COMMON_REASONER_PRESUME_H_
#define COMMON_REASONER_PRESUME_H_

#include "common/reasoner/belief.h"
#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::reasoner {

// The likeliest causes in one go: the order of search by priors and signals (rank.h), weighed by
// what `similar` past incidents suggest. A cause that neither a signal nor a past incident points
// to is not named, however common it is; each answer cites what points to it. Its probability is
// its share among all choices. Pure.
v1::PresumeAnswer Presume(const Case& the_case, const v1::PresumeQuestion& question,
                          const v1::HistoryAnswer& similar);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_PRESUME_H_
