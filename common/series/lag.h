#ifndef COMMON_SERIES_LAG_H_
#define COMMON_SERIES_LAG_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "common/series/change_points.h"

namespace galen::series {

struct Correlation {
  double value = 0;       // Pearson's, -1 to 1
  std::size_t pairs = 0;  // that both know
};

// Correlation of two series on the same grid; the longer one's rest is left out. Nothing if fewer
// than two pairs are known, or one of both does not move.
std::optional<Correlation> Correlate(absl::Span<const float> a, absl::Span<const float> b);

struct LagOptions {
  std::size_t most_lag = 60;       // samples, to either side
  std::size_t least_overlap = 20;  // known pairs required for a result
};

struct Lag {
  int samples = 0;        // more than 0: `effect` follows `cause` by this many
  float correlation = 0;  // Pearson's, -1 to 1, at that lag
  float standard_error =
      0;  // of the correlation if there were none, with both series' own inertia counted
  std::size_t overlap = 0;  // pairs it rests on
};

// The lag with the strongest correlation of two series on the same grid, positive or negative;
// among equal ones the shortest. Nothing if too little is known at every lag, or one of them does
// not move. Correlation is not causation: a lag of zero or below is evidence against `cause`.
// Linear in samples times lags.
//
// The standard error is 1/sqrt(n) with n shortened for series that depend on their own past
// (Bartlett 1935: n (1 - ab) / (1 + ab), a and b the correlations of each with its neighbour); the
// best of many lags lies higher by chance alone, so require some four of them.
std::optional<Lag> BestLag(absl::Span<const float> cause, absl::Span<const float> effect,
                           const LagOptions& options = {});

// Correlation of a series' levels with the phases of another one (throughput).
struct PhaseFit {
  float correlation = 0;   // of the levels in each phase, weighted by their length
  float explained = 0;     // share of the series' variance that lies between the phases, 0 to 1
  std::size_t phases = 0;  // in which both are known
};

// Nothing if fewer than two phases are known for both, or one of both does not move.
std::optional<PhaseFit> FitToPhases(absl::Span<const Phase> phases, absl::Span<const float> values);

}  // namespace galen::series

#endif  // COMMON_SERIES_LAG_H_
