#ifndef COMMON_TIMESERIES_ALIGN_H_
#define COMMON_TIMESERIES_ALIGN_H_

#include <cstddef>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/timeseries/grid.h"

namespace galen::timeseries {

struct AlignOptions {
  // A sample is valid for this long, and no longer: Prometheus' own limit for instant queries.
  absl::Duration most_age = absl::Minutes(5);
};

// A gauge on a grid: at each point the last known sample that is not older than most_age. Samples
// that are not later than the one before are ignored. Linear.
Series Align(absl::Span<const Sample> samples, const Grid& grid, const AlignOptions& options = {});

struct RateOptions {
  // Between two samples further apart the value is unknown.
  absl::Duration most_gap = absl::Minutes(5);
  // A counter with this many values begins again at 0 (4294967296 for 32 bits); 0: it does not.
  double wraps_at = 0;
};

struct Rate {
  Series per_second;
  std::size_t resets = 0;      // the counter fell: its owner restarted
  std::size_t disordered = 0;  // samples that were not later than the one before; ignored
};

// The growth of a counter per second, at each point of the grid over the step that ends there;
// unknown if samples cover less than half of the step. After a reset the counter is assumed to have
// begun at 0, as in Prometheus, so the growth between the last sample and the reset is missing:
// never a negative rate. Linear.
Rate RateOf(absl::Span<const Sample> samples, const Grid& grid, const RateOptions& options = {});

// The medians of each `block` neighbours; unknown if fewer than half of them are known.
std::vector<float> BlockMedians(absl::Span<const float> values, std::size_t block);

}  // namespace galen::timeseries

#endif  // COMMON_TIMESERIES_ALIGN_H_
