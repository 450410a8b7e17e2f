#ifndef COMMON_REASONER_QUESTIONS_H_
#define COMMON_REASONER_QUESTIONS_H_

#include "common/reasoner/belief.h"
#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::reasoner {

// Adds to `answer` at most three questions for a person and at most three tests that load a device,
// which would decide between the causes; the most informative first.
//
// A question is about one source to read (a command, a file, a log), which may serve many checks.
// Its value is the expected information of its answers about the causes, in bits: each open rule of
// those checks may turn out true or not, with the probability of the model, and changes the odds
// accordingly. Each further question is chosen on the assumption that the earlier ones show
// nothing. The value of a test is its bits per cost. Questions that were asked before are not
// repeated. docs/reasoner.md states the rule. Pure.
void AddQuestions(const Case& the_case, const v1::ExploreQuestion& question,
                  v1::ExploreAnswer& answer);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_QUESTIONS_H_
