#ifndef COMMON_TIMESERIES_GRID_H_
#define COMMON_TIMESERIES_GRID_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace galen::timeseries {

// The value of an unmeasured point. It is never zero: every function of this folder skips it, and
// returns "unknown" if too few other points are left. Infinite values count as unknown, too.
inline constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
inline bool IsKnown(float value) { return std::isfinite(value); }

// One time axis: sample i is at start + i * step.
struct Grid {
  absl::Time start;
  absl::Duration step;
  std::size_t size = 0;

  absl::Time At(std::size_t i) const { return start + static_cast<std::int64_t>(i) * step; }
};

// Bounds the memory: a year at one sample every 32 seconds.
inline constexpr std::size_t kMostSamples = 1'000'000;

// From `start` on, by `step`, up to and with `end`. INVALID_ARGUMENT: times that are not finite or
// not in order, a step below a millisecond, more than kMostSamples.
absl::StatusOr<Grid> MakeGrid(absl::Time start, absl::Time end, absl::Duration step);

// A sample as a source had it: 16 bytes. Doubles, since counters outgrow a float's 24 bits.
struct Sample {
  std::int64_t at = 0;  // milliseconds since 1970
  double value = 0;
};

// Values on a grid: four bytes a sample. The unit is the owner's.
struct Series {
  Grid grid;
  std::vector<float> values;  // grid.size of them; NaN: unknown
};

// The same metric of several entities (nodes, GPUs) on one axis, entity after entity, four bytes a
// sample.
class Panel {
 public:
  // All unknown.
  Panel(std::size_t entities, std::size_t samples)
      : entities_(entities), samples_(samples), values_(entities * samples, kUnknown) {}

  std::size_t entities() const { return entities_; }
  std::size_t samples() const { return samples_; }
  absl::Span<float> Row(std::size_t entity) {
    return absl::MakeSpan(values_).subspan(entity * samples_, samples_);
  }
  absl::Span<const float> Row(std::size_t entity) const {
    return absl::MakeConstSpan(values_).subspan(entity * samples_, samples_);
  }

 private:
  std::size_t entities_;
  std::size_t samples_;
  std::vector<float> values_;
};

}  // namespace galen::timeseries

#endif  // COMMON_TIMESERIES_GRID_H_
