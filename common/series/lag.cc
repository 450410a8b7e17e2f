#include "common/series/lag.h"

#include <algorithm>
#include <cmath>

#include "common/series/grid.h"
#include "common/series/robust.h"

namespace galen::series {
namespace {

// Correlation of a[i] and b[i + lag].
std::optional<Correlation> AtLag(absl::Span<const float> a, absl::Span<const float> b, int lag) {
  const std::size_t skip_a = lag < 0 ? static_cast<std::size_t>(-lag) : 0;
  const std::size_t skip_b = lag > 0 ? static_cast<std::size_t>(lag) : 0;
  if (skip_a >= a.size() || skip_b >= b.size()) return std::nullopt;
  return Correlate(a.subspan(skip_a), b.subspan(skip_b));
}

double OwnInertia(absl::Span<const float> values) {
  const auto next = AtLag(values, values, 1);
  return next.has_value() ? next->value : 0;
}

}  // namespace

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

std::optional<Lag> BestLag(absl::Span<const float> cause, absl::Span<const float> effect,
                           const LagOptions& options) {
  const int most = static_cast<int>(std::min({options.most_lag, cause.size(), effect.size()}));
  const std::size_t least = std::max<std::size_t>(options.least_overlap, 3);
  std::optional<Lag> best;
  for (int distance = 0; distance <= most; ++distance) {
    for (const int lag : {distance, -distance}) {
      const auto found = AtLag(cause, effect, lag);
      if (found.has_value() && found->pairs >= least &&
          (!best.has_value() || std::fabs(found->value) > std::fabs(best->correlation) + 1e-6)) {
        best = Lag{lag, static_cast<float>(found->value), 0, found->pairs};
      }
      if (distance == 0) break;
    }
  }
  if (!best.has_value()) return best;
  const double inertia = std::clamp(OwnInertia(cause) * OwnInertia(effect), 0.0, 0.999);
  const double pairs = static_cast<double>(best->overlap) * (1 - inertia) / (1 + inertia);
  best->standard_error = static_cast<float>(1 / std::sqrt(std::max(pairs, 1.0)));
  return best;
}

std::optional<PhaseFit> FitToPhases(absl::Span<const Phase> phases,
                                    absl::Span<const float> values) {
  const Center whole = CenterOf(values);
  if (whole.known == 0) return std::nullopt;
  std::vector<double> levels;
  std::vector<double> means;
  std::vector<double> weights;
  double total = 0;
  double inside = 0;
  double mean_all = 0;
  double known_all = 0;
  for (const Phase& phase : phases) {
    if (phase.known == 0 || phase.begin >= values.size()) continue;
    const auto part = values.subspan(phase.begin, std::min(phase.end, values.size()) - phase.begin);
    std::vector<float> known = KnownOf(part);
    if (known.empty()) continue;
    double sum = 0;
    for (const float value : known) sum += value - whole.median;
    const double mean = sum / static_cast<double>(known.size());
    for (const float value : known) {
      const double off = value - whole.median - mean;
      inside += off * off;
    }
    levels.push_back(phase.level);
    means.push_back(mean);
    weights.push_back(static_cast<double>(known.size()));
    mean_all += sum;
    known_all += static_cast<double>(known.size());
  }
  if (levels.size() < 2) return std::nullopt;
  mean_all /= known_all;
  double mean_level = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) mean_level += levels[i] * weights[i] / known_all;
  double between = 0;
  double spread = 0;
  double together = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const double dm = means[i] - mean_all;
    const double dl = levels[i] - mean_level;
    between += weights[i] * dm * dm;
    spread += weights[i] * dl * dl;
    together += weights[i] * dm * dl;
  }
  total = between + inside;
  if (total <= 0 || between <= 0 || spread <= 0) return std::nullopt;
  return PhaseFit{
      static_cast<float>(std::clamp(together / std::sqrt(between) / std::sqrt(spread), -1.0, 1.0)),
      static_cast<float>(between / total), levels.size()};
}

}  // namespace galen::series
