#ifndef BENCH_EVAL_RUNNER_OBSERVE_H_
#define BENCH_EVAL_RUNNER_OBSERVE_H_

#include <vector>

#include "common/knowledge/knowledge.h"
#include "galen/eval/v1/eval.pb.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::eval {

// Everything in the evidence of a diagnosis that the rules and messages of the knowledge refer to,
// each name once: seen if it was on at least one node. Pure.
std::vector<v1::Observed> Observe(const galen::v1::Diagnosis& diagnosis,
                                  const knowledge::Knowledge& knowledge);

}  // namespace galen::eval

#endif  // BENCH_EVAL_RUNNER_OBSERVE_H_
