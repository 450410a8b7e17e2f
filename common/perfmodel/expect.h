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
  // Watts of a board, mean over a step. Nothing where no measurement of a step told its power:
  // unknown.
  std::optional<Interval> power;
  double utilization = 0;  // model FLOPs of the peak (MFU)
  StepTime parts;
};

// The one question of who watches jobs. Pure and thread-safe. `confidence` is how
// often a healthy job of a kind that calibrated lies in the interval; it is as good as the
// measurements in `calibration` are like the job, and says in Interval::confidence how much they
// allow. FAILED_PRECONDITION: the machine lacks a rate, the calibration a factor, or measured
// steps.
absl::StatusOr<Expectation> Expect(const Job& job, const Machine& machine,
                                   const Calibration& calibration, double confidence = 0.9);

// How a measured value stands to what was expected.
enum class Standing { kAsExpected, kBelow, kAbove, kUnknown };
// kUnknown: `measured` is not a positive number (nothing was measured).
Standing StandingOf(const Interval& expected, double measured);

}  // namespace galen::perfmodel

#endif  // COMMON_PERFMODEL_EXPECT_H_
