#include "common/perfmodel/expect.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace galen::perfmodel {

absl::StatusOr<Expectation> Expect(const Job& job, const Machine& machine,
                                   const Calibration& calibration, double confidence) {
  Expectation expected;
  GALEN_ASSIGN_OR_RETURN(expected.parts, PredictStep(job, machine, calibration.factors));
  GALEN_ASSIGN_OR_RETURN(expected.step,
                         IntervalOf(calibration, "step", expected.parts.total, confidence));
  const double tokens =
      static_cast<double>(job.shape.batch) * static_cast<double>(job.shape.sequence);
  expected.throughput = {tokens / expected.step.high, tokens / expected.step.expected,
                         tokens / expected.step.low, expected.step.confidence};
  GALEN_ASSIGN_OR_RETURN(const double peak, PeakOf(machine, job.shape.precision));
  expected.utilization = expected.parts.work.model_flops /
                         (expected.parts.total * peak * static_cast<double>(job.shape.gpus));
  const auto share = calibration.factors.At(absl::StrCat("power.", machine.gpu));
  if (share.ok() && machine.power > 0) {
    // A step that takes longer than it should does less work per second, and draws less power;
    // within its interval a board draws what others drew, with the error of steps.
    const double watts = *share * machine.power;
    // A board draws no more than its limit, unless the measured ones drew more.
    const double most = std::min(machine.power, watts * expected.step.expected / expected.step.low);
    expected.power = Interval{watts * expected.step.expected / expected.step.high, watts,
                              std::max(watts, most), expected.step.confidence};
  }
  return expected;
}

Standing StandingOf(const Interval& expected, double measured) {
  if (!std::isfinite(measured) || measured <= 0) return Standing::kUnknown;
  if (measured < expected.low) return Standing::kBelow;
  if (measured > expected.high) return Standing::kAbove;
  return Standing::kAsExpected;
}

}  // namespace galen::perfmodel
