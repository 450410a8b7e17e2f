#ifndef COMMON_TIMESERIES_TREND_H_
#define COMMON_TIMESERIES_TREND_H_

#include <cstddef>

#include "absl/types/span.h"

namespace galen::timeseries {

struct TrendOptions {
  double most_chance = 0.01;     // a trend that noise makes more often than this does not count
  std::size_t least_points = 8;  // known values required for a result
  // Longer series are cut into blocks, represented by their medians: 200 points have 19,900 slopes.
  std::size_t most_points = 200;
  // Criteria of a leak. Memory that grew by less than a fiftieth of itself is not suspicious
  // (judgement). The lowest values of neighbouring eighths of the time are compared, and at most
  // one pair may fall: a value that returns is a period, a cache or a checkpoint.
  double least_growth = 0.02;
  std::size_t floors = 8;
  std::size_t most_falls = 1;
};

enum class Direction { kUndecided, kSteady, kGrows, kShrinks };

struct Trend {
  Direction direction = Direction::kUndecided;
  double per_sample = 0;  // Theil and Sen's slope: the median of the slopes of all pairs
  double least = 0;       // its 95 % interval (Sen 1968)
  double most = 0;
  double chance = 1;  // that noise alone produces this (Mann-Kendall, both sides)
  double growth = 0;  // over the whole series, in units of the value
  // Grows, by least_growth of its level at the beginning, and its lowest values rise with it.
  bool leaks = false;
  std::size_t known = 0;  // points
};

// Direction of a series. Neither spikes nor up to a fourth of wild values move the answer. The
// chance accounts for the correlation of neighbours: the variance of Mann-Kendall's statistic is
// widened by (1 + r) / (1 - r), r the correlation of neighbours around the trend (as Yue and Wang
// 2004). Quadratic in most_points.
Trend TrendOf(absl::Span<const float> values, const TrendOptions& options = {});

}  // namespace galen::timeseries

#endif  // COMMON_TIMESERIES_TREND_H_
