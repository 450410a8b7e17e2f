#ifndef BENCH_EVAL_METRICS_COSTS_H_
#define BENCH_EVAL_METRICS_COSTS_H_

#include <vector>

#include "galen/eval/v1/eval.pb.h"

namespace galen::eval {

// What the checks of one case cost on a simulated clock: each that ran, on each node, takes the
// time that the catalogue declares; the nodes work at the same time, a node does one check after
// the other. A check that was SKIPPED found nothing to do and takes none.
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
