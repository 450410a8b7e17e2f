#ifndef COMMON_TIMESERIES_PERIOD_H_
#define COMMON_TIMESERIES_PERIOD_H_

#include <cstddef>
#include <optional>

#include "absl/types/span.h"

namespace galen::timeseries {

struct PeriodOptions {
  // Correlation of the series with itself one period later. For noise it is below 2 / sqrt(samples)
  // nineteen times of twenty (Box and Jenkins), for a relevant period it is much higher
  // (judgement).
  float least_strength = 0.3F;
  std::size_t shortest = 2;  // samples
  double least_repeats = 3;  // it has to fit this often into the series
  std::size_t most_points =
      4096;  // longer series are cut into blocks, represented by their medians
};

struct Period {
  double samples = 0;
  float strength = 0;  // autocorrelation there, up to 1
};

// The period of a series without its straight trend: among the peaks of its autocorrelation within
// a tenth of the highest one the earliest, because a pattern that repeats after p also does after
// 2p. Nothing if there is none, or too little is known. Quadratic in most_points.
std::optional<Period> PeriodOf(absl::Span<const float> values, const PeriodOptions& options = {});

}  // namespace galen::timeseries

#endif  // COMMON_TIMESERIES_PERIOD_H_
