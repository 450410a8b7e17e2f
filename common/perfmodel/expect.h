#ifndef COMMON_PERFMODEL_EXPECT_H_
#define COMMON_PERFMODEL_EXPECT_H_

#include <optional>

#include "absl/status/statusor.h"
#include "common/perfmodel/calibrate.h"
#include "common/perfmodel/job.h"
#include "common/perfmodel/machine.h"
#include "common/perfmodel/predict.h"

namespace galen::perfmodel {

// The expected performance of one job on one kind of healthy machine.
struct Expectation {
  Interval step;        // seconds
  Interval throughput;  // tokens a second of all GPUs
  // Watts of a board, mean over a step. Nothing if no measured step has its power: unknown.
  std::optional<Interval> power;
  double utilization = 0;  // model FLOPs of the peak (MFU)
  StepTime parts;
};

// The question of programs that watch jobs. Pure and thread-safe. `confidence` is the share of
// healthy jobs of a calibrating kind that lie in the interval. It is only as good as the
// resemblance of the job to the measurements in `calibration`; Interval::confidence is the
// confidence that they permit. FAILED_PRECONDITION: the machine lacks a rate, the calibration a
// factor, or measured steps.
absl::StatusOr<Expectation> Expect(const Job& job, const Machine& machine,
                                   const Calibration& calibration, double confidence = 0.9);

// The position of a measured value relative to the expected one.
enum class Standing { kAsExpected, kBelow, kAbove, kUnknown };
// kUnknown: `measured` is not a positive number (nothing was measured).
Standing StandingOf(const Interval& expected, double measured);

}  // namespace galen::perfmodel

#endif  // COMMON_PERFMODEL_EXPECT_H_
