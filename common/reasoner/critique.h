#ifndef COMMON_REASONER_CRITIQUE_H_
#define COMMON_REASONER_CRITIQUE_H_

#include "common/reasoner/belief.h"
#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::reasoner {

// What no confirmed hypothesis explains, and which leaves that were not judged yet would: those
// with evidence of their own among the check results first, then those that decisive signals name.
// At most eight labels. Remarks name each abnormal finding and decisive signal that stays
// unexplained. Pure.
v1::CritiqueAnswer Critique(const Case& the_case, const v1::CritiqueQuestion& question);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_CRITIQUE_H_
