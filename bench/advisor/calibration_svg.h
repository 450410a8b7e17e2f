#ifndef BENCH_ADVISOR_CALIBRATION_SVG_H_
#define BENCH_ADVISOR_CALIBRATION_SVG_H_

#include <string>
#include <vector>

#include "bench/eval/metrics/wilson.h"

namespace galen::bench {

// Predictions of about the same size, and their outcomes.
struct CalibrationBin {
  double predicted = 0;  // mean
  eval::Share observed;
  long count = 0;
};

// Observed against predicted shares on logarithmic axes, with 95 % intervals and the diagonal.
std::string CalibrationSvg(const std::vector<CalibrationBin>& bins, const std::string& title);

}  // namespace galen::bench

#endif  // BENCH_ADVISOR_CALIBRATION_SVG_H_
