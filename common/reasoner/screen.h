#ifndef COMMON_REASONER_SCREEN_H_
#define COMMON_REASONER_SCREEN_H_

#include "common/reasoner/belief.h"
#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::reasoner {

// What a few checks would tell next, wherever in the taxonomy the causes lie: leaves that a machine
// or a log points to, or where checks promise more, the checks that carry most belief for what they
// cost. docs/reasoner.md states the rule and its numbers.
//
// Looking where belief per cost is greatest first finds what is hidden at the least expected cost
// (L. D. Stone, Theory of Optimal Search, 1975, for searches that do not hinder each other).
//
// Once a cause is confirmed only leaves that are proven beside it are still suspects. At the end
// those that are mentioned or easily mistaken for it and that the checks have refuted are judged by
// what is known, so that a report can say what was ruled out. An empty answer ends the screening:
// every leaf that it could propose has its verdict, and no check is left that could confirm one. So
// it ends when each answer is carried out before the next question. Pure.
v1::ScreenAnswer Screen(const Case& the_case, const v1::ScreenQuestion& question);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_SCREEN_H_
