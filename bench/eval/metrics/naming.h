#ifndef BENCH_EVAL_METRICS_NAMING_H_
#define BENCH_EVAL_METRICS_NAMING_H_

#include <vector>

#include "bench/eval/metrics/score.h"
#include "galen/eval/v1/eval.pb.h"

namespace galen::eval {

// For each corpus: whether the first cause that a report names is right, or one of the first three.
// The order is the confirmed causes, else the presumed one, else the suspects; a cause that came
// with the true one (`labels_secondary`) does not count. A presumed cause in a case without a cause
// is wrong, unless the answer accepts it. `results` and `scores` are those of `cases`, in the same
// order. Pure.
std::vector<v1::Naming> ScoreNaming(const std::vector<v1::Case>& cases,
                                    const std::vector<v1::CaseResult>& results,
                                    const std::vector<CaseScore>& scores);

}  // namespace galen::eval

#endif  // BENCH_EVAL_METRICS_NAMING_H_
