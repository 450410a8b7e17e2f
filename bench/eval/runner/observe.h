#ifndef BENCH_EVAL_RUNNER_OBSERVE_H_
#define BENCH_EVAL_RUNNER_OBSERVE_H_

#include <vector>

#include "common/knowledge/knowledge.h"
#include "galen/eval/v1/eval.pb.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::eval {

// All that the rules and messages of the knowledge ask for and that the evidence of a diagnosis
// tells, each name once: seen when it was on one node at least. Pure.
std::vector<v1::Observed> Observe(const galen::v1::Diagnosis& diagnosis,
                                  const knowledge::Knowledge& knowledge);

}  // namespace galen::eval

#endif  // BENCH_EVAL_RUNNER_OBSERVE_H_
