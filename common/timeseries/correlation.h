#ifndef COMMON_TIMESERIES_CORRELATION_H_
#define COMMON_TIMESERIES_CORRELATION_H_

#include <cstddef>
#include <optional>

#include "absl/types/span.h"

namespace galen::timeseries {

struct Correlation {
  double value = 0;       // Pearson's, -1 to 1
  std::size_t pairs = 0;  // that both know
};

// Correlation of two series on the same grid; the longer one's rest is left out. Nothing if fewer
// than two pairs are known, or one of both does not move.
std::optional<Correlation> Correlate(absl::Span<const float> a, absl::Span<const float> b);

}  // namespace galen::timeseries

#endif  // COMMON_TIMESERIES_CORRELATION_H_
