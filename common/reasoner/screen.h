#ifndef COMMON_REASONER_SCREEN_H_
#define COMMON_REASONER_SCREEN_H_

#include "common/reasoner/belief.h"
#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::reasoner {

// Chooses the next step of the screening, anywhere in the taxonomy: leaves that a machine or a log
// points to, or, if checks are more promising, the checks that cover the most belief for their
// cost. docs/reasoner.md states the rule and its numbers.
//
// Searching in the order of belief per cost has the least expected cost (L. D. Stone, Theory of
// Optimal Search, 1975, for independent searches).
//
// Once a cause is confirmed, only other proven leaves are still suspects. At the end, leaves that
// are mentioned or easily mistaken for the cause and that the checks have refuted are judged by
// existing results, so that the report can name them as ruled out. An empty answer ends the
// screening: every leaf that it could propose has a verdict, and no remaining check could confirm
// one. It terminates if each answer is carried out before the next question. Pure.
v1::ScreenAnswer Screen(const Case& the_case, const v1::ScreenQuestion& question);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_SCREEN_H_
