#ifndef COMMON_TIMESERIES_CHANGE_POINTS_H_
#define COMMON_TIMESERIES_CHANGE_POINTS_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace galen::timeseries {

struct ChangeOptions {
  // The gain that a further phase needs, in noise variances times the logarithm of the length. 2 is
  // the Bayesian information criterion of a level and its place (Yao, 1988); samples of real
  // machines are not independent, so the value is higher.
  double penalty = 4;
  // A phase has at least this many samples: a shorter one is a spike.
  std::size_t shortest = 5;
  // Adjacent phases whose levels differ by less than this many of their own spreads are one: such a
  // step cannot be distinguished from the usual variation.
  double least_shift = 1.0;
  // Longer series are first cut into blocks, represented by their medians.
  std::size_t most_points = 2000;
};

// A stretch of a series that stays at one level.
struct Phase {
  std::size_t begin = 0;
  std::size_t end = 0;  // one behind
  float level = 0;      // median of the known values
  float spread = 0;     // as Center::spread
  std::size_t known = 0;
};

// The phases of a series, in order, without gaps between them; unknown samples belong to the phase
// around them. None if nothing is known.
//
// PELT (Killick, Fearnhead, Eckley: "Optimal Detection of Changepoints With a Linear Computational
// Cost", JASA 2012) over levels. Values further than three noises from the median of their five
// neighbours are first clamped to that bound, so that single spikes do not make a phase. At most
// quadratic in most_points.
std::vector<Phase> FindPhases(absl::Span<const float> values, const ChangeOptions& options = {});

}  // namespace galen::timeseries

#endif  // COMMON_TIMESERIES_CHANGE_POINTS_H_
