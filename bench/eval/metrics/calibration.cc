#include "bench/eval/metrics/calibration.h"

#include <algorithm>
#include <cmath>

namespace galen::eval {

v1::Calibration Calibrate(absl::Span<const Belief> beliefs) {
  v1::Calibration calibration;
  for (int i = 0; i < kCalibrationBins; ++i) {
    v1::CalibrationBin& bin = *calibration.add_bins();
    bin.set_low(static_cast<double>(i) / kCalibrationBins);
    bin.set_high(static_cast<double>(i + 1) / kCalibrationBins);
  }
  for (const Belief& belief : beliefs) {
    const double confidence =
        std::isfinite(belief.confidence) ? std::clamp(belief.confidence, 0.0, 1.0) : 0.0;
    const int at = std::min(static_cast<int>(confidence * kCalibrationBins), kCalibrationBins - 1);
    v1::CalibrationBin& bin = *calibration.mutable_bins(at);
    bin.set_verdicts(bin.verdicts() + 1);
    bin.set_confidence(bin.confidence() + confidence);
    bin.set_right(bin.right() + (belief.right ? 1 : 0));
  }
  double error = 0;
  for (v1::CalibrationBin& bin : *calibration.mutable_bins()) {
    if (bin.verdicts() == 0) continue;
    error += std::abs(bin.confidence() - bin.right());
    bin.set_confidence(bin.confidence() / bin.verdicts());
    bin.set_right(bin.right() / bin.verdicts());
  }
  calibration.set_verdicts(static_cast<int>(beliefs.size()));
  calibration.set_error(beliefs.empty() ? 0 : error / static_cast<double>(beliefs.size()));
  return calibration;
}

}  // namespace galen::eval
