#ifndef BENCH_EVAL_METRICS_COSTS_H_
#define BENCH_EVAL_METRICS_COSTS_H_

#include <vector>

#include "galen/eval/v1/eval.pb.h"

namespace galen::eval {

// The cost of one case's checks on a simulated clock. Each check that ran takes the time that the
// catalogue declares, on each node; nodes work in parallel, and a node runs one check after the
// other. A SKIPPED check had nothing to do and takes no time.
struct CheckCosts {
  int checks = 0;  // distinct ones that ran
  int runs = 0;    // times nodes
  int asked = 0;   // times nodes, those that were skipped too
  double verification_seconds = 0;
  double machine_seconds = 0;  // summed over the nodes
};
CheckCosts CostOfChecks(const v1::CaseResult& result);

// The mean over results. Pure.
v1::Costs MeanCosts(const std::vector<v1::CaseResult>& results);

}  // namespace galen::eval

#endif  // BENCH_EVAL_METRICS_COSTS_H_
