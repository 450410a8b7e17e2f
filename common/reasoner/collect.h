#ifndef COMMON_REASONER_COLLECT_H_
#define COMMON_REASONER_COLLECT_H_

#include "absl/strings/string_view.h"
#include "common/reasoner/belief.h"

namespace galen::reasoner {

// Everything that speaks for and against the leaf on one node, one observation per check and line,
// the weightiest first; without the odds. Pure.
Belief Collect(const Case& the_case, const knowledge::v1::Label& leaf, absl::string_view node);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_COLLECT_H_
