#ifndef BENCH_EVAL_RUNNER_MODE_H_
#define BENCH_EVAL_RUNNER_MODE_H_

#include "absl/strings/string_view.h"
#include "galen/eval/v1/eval.pb.h"
#include "galen/knowledge/v1/knowledge.pb.h"

namespace galen::eval {

// Restricts the knowledge of a case about its own cause, beyond leave-one-out, which applies in
// every mode.
enum class Mode {
  kPlain,
  // The history holds no incident of the case's own labels: the cause is met for the first time.
  kUnseen,
  // The checks that the confirm rules of the true labels depend on do not answer, and their own
  // messages are unknown: the decisive evidence was not captured, and nothing else should be
  // confirmed.
  kWithheld,
  // The true labels are not in the knowledge at all: every confirmed cause is wrong.
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

// Restricts the knowledge of a case to its mode: removes labels from `base`, or switches checks
// off. LeaveOut() restricts the history. Pure.
void Restrict(Mode mode, const v1::Case& a_case, knowledge::v1::KnowledgeBase& base);

// The case as it is judged in that mode. Pure.
v1::Case Judged(Mode mode, v1::Case a_case);

}  // namespace galen::eval

#endif  // BENCH_EVAL_RUNNER_MODE_H_
