#ifndef COMMON_REASONER_EXPLORE_H_
#define COMMON_REASONER_EXPLORE_H_

#include "common/reasoner/belief.h"
#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::reasoner {

// Suggestions for a person if nothing is confirmed: messages that no cause explains, undecided
// causes with the data to collect, and their untested look-alikes. Never executed. At most ten.
// Pure.
v1::ExploreAnswer Explore(const Case& the_case, const v1::ExploreQuestion& question);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_EXPLORE_H_
