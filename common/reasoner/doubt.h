#ifndef COMMON_REASONER_DOUBT_H_
#define COMMON_REASONER_DOUBT_H_

#include <string>

#include "common/reasoner/judge.h"

namespace galen::reasoner {

// Why the finding that would confirm `leaf` on a node does not suffice, in words; "" when it does.
// Two findings, or one and a strong message, are always enough: docs/reasoner.md states the rule.
// `assessment` is complete but for its doubt. Pure.
std::string Doubt(const Case& the_case, const knowledge::v1::Label& leaf,
                  const Assessment& assessment);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_DOUBT_H_
