#include "common/timeseries/correlation.h"

#include <algorithm>
#include <cmath>

#include "common/timeseries/grid.h"

namespace galen::timeseries {

std::optional<Correlation> Correlate(absl::Span<const float> a, absl::Span<const float> b) {
  const std::size_t n = std::min(a.size(), b.size());
  double pairs = 0;
  double sum_a = 0;
  double sum_b = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const bool both = IsKnown(a[i]) && IsKnown(b[i]);
    pairs += both ? 1 : 0;
    sum_a += both ? a[i] : 0.0;
    sum_b += both ? b[i] : 0.0;
  }
  if (pairs < 2) return std::nullopt;
  const double mean_a = sum_a / pairs;
  const double mean_b = sum_b / pairs;
  double aa = 0;
  double bb = 0;
  double ab = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const bool both = IsKnown(a[i]) && IsKnown(b[i]);
    const double da = both ? a[i] - mean_a : 0;
    const double db = both ? b[i] - mean_b : 0;
    aa += da * da;
    bb += db * db;
    ab += da * db;
  }
  // Rounding alone leaves constants a tiny variance.
  const double tiny = 1e-12;
  if (aa <= tiny * mean_a * mean_a * pairs || bb <= tiny * mean_b * mean_b * pairs)
    return std::nullopt;
  return Correlation{std::clamp(ab / std::sqrt(aa) / std::sqrt(bb), -1.0, 1.0),
                     static_cast<std::size_t>(pairs)};
}

}  // namespace galen::timeseries
