#ifndef COMMON_PERFMODEL_PREDICT_H_
#define COMMON_PERFMODEL_PREDICT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/perfmodel/factors.h"
#include "common/perfmodel/job.h"
#include "common/perfmodel/machine.h"
#include "common/perfmodel/work.h"

namespace galen::perfmodel {

// The seconds of a step on the busiest GPU by part; the parts add up to `total`.
struct StepTime {
  double compute = 0;       // products of matrices
  double memory = 0;        // memory traffic in addition to them
  double interconnect = 0;  // the part that does not overlap
  double bubble = 0;        // a pipeline that fills and drains
  double total = 0;

  double hidden = 0;  // seconds of interconnect that overlap with the rest
  // The parts of `interconnect` + `hidden` by purpose, in the order of StepWork.
  std::vector<double> traffic;
  // The rates above after all shares: operations and bytes a second.
  double matrix_rate = 0;
  double memory_rate = 0;
  StepWork work;
};

// FAILED_PRECONDITION: the machine or the factors lack what the job needs; INVALID_ARGUMENT:
// numbers so large that the result is not finite.
absl::StatusOr<StepTime> PredictStep(const Job& job, const Machine& machine,
                                     const Factors& factors);

}  // namespace galen::perfmodel

#endif  // COMMON_PERFMODEL_PREDICT_H_
