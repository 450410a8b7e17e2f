#ifndef COMMON_REASONER_SCREEN_H_
#define COMMON_REASONER_SCREEN_H_

#include <string>

#include "absl/types/span.h"
#include "common/reasoner/judge.h"
#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::reasoner {

// As many alike leaves as are worth a hint.
inline constexpr size_t kMostAlike = 15;

// What a few checks would tell next, wherever in the taxonomy the causes lie: leaves that a strong
// signal or an abnormal finding points to, or where checks promise more, the checks that carry most
// belief for what they cost. docs/reasoner.md states the rule and its numbers.
//
// Looking where belief per cost is greatest first finds what is hidden at the least expected cost
// (L. D. Stone, Theory of Optimal Search, 1975, for searches that do not hinder each other).
//
// `alike` holds the leaves whose description is most like the incident, best first, at most
// kMostAlike: words decide no verdict, but they tell where to look first.
//
// Once a cause is confirmed only leaves with a finding of their own are still suspects. At the end
// those that are mentioned or easily mistaken for it and that the checks have refuted are judged by
// what is known, so that a report can say what was ruled out. An empty answer ends the screening:
// every leaf that it could propose has its verdict, and no check is left that could confirm one. So
// it ends when each answer is carried out before the next question. Pure.
v1::ScreenAnswer Screen(const Case& the_case, const v1::ScreenQuestion& question,
                        absl::Span<const std::string> alike = {});

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_SCREEN_H_
