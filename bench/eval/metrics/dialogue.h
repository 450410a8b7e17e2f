#ifndef BENCH_EVAL_METRICS_DIALOGUE_H_
#define BENCH_EVAL_METRICS_DIALOGUE_H_

#include <vector>

#include "galen/eval/v1/eval.pb.h"

namespace galen::eval {

// Counts the cases in which nothing was confirmed before the first question: how many ended in the
// right cause by each round, and in how many a wrong one was confirmed. A cause counts once it is
// confirmed. Empty if no customer answered. Pure.
v1::DialogueScores ScoreDialogue(const std::vector<v1::Case>& cases,
                                 const std::vector<v1::CaseResult>& results);

}  // namespace galen::eval

#endif  // BENCH_EVAL_METRICS_DIALOGUE_H_
