#ifndef BENCH_EVAL_METRICS_CALIBRATION_H_
#define BENCH_EVAL_METRICS_CALIBRATION_H_

#include "absl/types/span.h"
#include "galen/eval/v1/eval.pb.h"

namespace galen::eval {

inline constexpr int kCalibrationBins = 10;

// A belief and what came true.
struct Belief {
  double confidence = 0;  // 0 to 1; what lies outside counts as the nearest end
  bool right = false;
};

// Expected calibration error: the mean over bins of equal width of |confidence - share right|,
// weighted by their verdicts (Guo et al., On Calibration of Modern Neural Networks, 2017). A belief
// of exactly 1 belongs to the last bin. Pure.
v1::Calibration Calibrate(absl::Span<const Belief> beliefs);

}  // namespace galen::eval

#endif  // BENCH_EVAL_METRICS_CALIBRATION_H_
