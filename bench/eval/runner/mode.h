#ifndef BENCH_EVAL_RUNNER_MODE_H_
#define BENCH_EVAL_RUNNER_MODE_H_

#include "absl/strings/string_view.h"
#include "galen/eval/v1/eval.pb.h"
#include "galen/knowledge/v1/knowledge.pb.h"

namespace galen::eval {

// What a case may know of its cause, beside what leave-one-out takes away in every mode.
enum class Mode {
  kPlain,
  // The history holds no incident of the case's own labels: the cause is met for the first time.
  kUnseen,
  // The checks that the confirm rules of the true labels rest on do not answer, and nobody knows
  // their own messages: what would decide was not captured, and nothing should be confirmed in its
  // place.
  kWithheld,
  // The true labels are not in the knowledge at all: whatever is confirmed is wrong.
  kOutside,
  // The bundle lacks the decisive evidence. A simulated customer gives it in answers to the
  // questions of the diagnosis (simulated_customer.h), for two rounds.
  kAnswered,
  // The same with as many random questions, as a baseline.
  kAnsweredAtRandom,
  // As plain; and what every rule and message asks for is noted down, for base rates.
  kMeasured,
};

// "plain", "unseen", "withheld", "outside", "answered", "answered at random", "measured".
absl::string_view ModeName(Mode mode);

// What a case of that mode knows: takes labels out of `base`, or switches checks off. The history
// is LeaveOut()'s. Pure.
void Restrict(Mode mode, const v1::Case& a_case, knowledge::v1::KnowledgeBase& base);

// The case as it is judged in that mode. Pure.
v1::Case Judged(Mode mode, v1::Case a_case);

}  // namespace galen::eval

#endif  // BENCH_EVAL_RUNNER_MODE_H_
