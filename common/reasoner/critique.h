#ifndef COMMON_REASONER_CRITIQUE_H_
#define COMMON_REASONER_CRITIQUE_H_

#include "common/reasoner/belief.h"
#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::reasoner {

// Finds evidence that no confirmed hypothesis explains, and unjudged leaves that would explain it:
// first those with evidence of their own among the check results, then those that decisive signals
// name. At most eight labels. Remarks name each unexplained abnormal finding and decisive signal.
// Pure.
v1::CritiqueAnswer Critique(const Case& the_case, const v1::CritiqueQuestion& question);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_CRITIQUE_H_
