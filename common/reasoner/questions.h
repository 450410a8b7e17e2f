#ifndef COMMON_REASONER_QUESTIONS_H_
#define COMMON_REASONER_QUESTIONS_H_

#include "common/reasoner/belief.h"
#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::reasoner {

// Adds to `answer` what would decide between the causes: at most three questions for a person, and
// at most three tests that load a device, that tells most first.
//
// A question is about one thing to read (a command, a file, a log), which may serve many checks. It
// is worth the bits by which its answers are expected to narrow the causes down: every rule that
// those checks leave open may be seen or not, as probable as the model says, and moves the odds as
// it would if it were seen. Each further question is chosen as if the ones before it had shown
// nothing. A test is worth its bits for what it costs. What was asked before is not asked again.
// docs/reasoner.md states the rule. Pure.
void AddQuestions(const Case& the_case, const v1::ExploreQuestion& question,
                  v1::ExploreAnswer& answer);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_QUESTIONS_H_
