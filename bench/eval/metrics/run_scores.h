#ifndef BENCH_EVAL_METRICS_RUN_SCORES_H_
#define BENCH_EVAL_METRICS_RUN_SCORES_H_

#include <cstdint>
#include <vector>

#include "bench/eval/metrics/score.h"
#include "galen/eval/v1/eval.pb.h"

namespace galen::eval {

// Bootstrap samples for the intervals of F1.
inline constexpr int kDraws = 1000;

// All numbers of one strategy in one mode: `results` are those of `cases`, in the same order, and
// `scores` are those of ScoreCase. docs/eval.md explains each number. Pure: the same arguments give
// the same numbers.
v1::Scores ScoreRun(const std::vector<v1::Case>& cases, const std::vector<v1::CaseResult>& results,
                    const std::vector<CaseScore>& scores, std::int64_t seed);

}  // namespace galen::eval

#endif  // BENCH_EVAL_METRICS_RUN_SCORES_H_
