#ifndef COMMON_REASONER_EXPLORE_H_
#define COMMON_REASONER_EXPLORE_H_

#include "common/reasoner/belief.h"
#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::reasoner {

// What a person could do next when nothing is confirmed: messages that no cause explains, causes
// that stay undecided with what to collect, and look-alikes of those that were not tested. Only
// suggestions; nothing of it is ever executed. At most ten. Pure.
v1::ExploreAnswer Explore(const Case& the_case, const v1::ExploreQuestion& question);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_EXPLORE_H_
