#ifndef COMMON_TIMESERIES_ROBUST_H_
#define COMMON_TIMESERIES_ROBUST_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace galen::timeseries {

// A normal distribution's standard deviation is this multiple of its median absolute deviation, and
// this multiple of its mean absolute deviation.
inline constexpr float kMadToSigma = 1.4826F;
inline constexpr float kMeanAdToSigma = 1.2533F;

// The known ones among `values`.
std::vector<float> KnownOf(absl::Span<const float> values);

// The value that `share` (0 to 1) of the known ones do not exceed; for 0.5 the median (for an even
// number the mean of both in the middle). kUnknown if none is known. Linear on average.
float Quantile(absl::Span<const float> values, double share);
inline float Median(absl::Span<const float> values) { return Quantile(values, 0.5); }

// The median of values that are all known; reorders them. kUnknown if there are none.
float MedianInPlace(absl::Span<float> known);

// Middle and spread that are robust against up to half of the values.
struct Center {
  float median = 0;  // NaN if nothing is known
  // A standard deviation's estimate: from the median absolute deviation or, where more than half of
  // the values are equal, from the mean absolute deviation (Iglewicz and Hoaglin, "How to Detect
  // and Handle Outliers", 1993). 0: all are equal.
  float spread = 0;
  std::size_t known = 0;
};
// `trim`: in that last case the largest deviations, so large a share of all, do not count: where
// most are equal each single one that differs widens the mean.
Center CenterOf(absl::Span<const float> values, double trim = 0);

// How much neighbours of a series differ by noise alone, as a standard deviation: from the
// differences of neighbours, so that levels and slow trends do not count. 0: it does not move;
// NaN: fewer than two neighbours are known.
float NoiseOf(absl::Span<const float> values);

}  // namespace galen::timeseries

#endif  // COMMON_TIMESERIES_ROBUST_H_
