#include "services/advisor/learning/separation.h"

#include <algorithm>
#include <cmath>

namespace galen::advisor {
namespace {

// Effects of a level beyond it count as certainty.
constexpr double kMostEffect = 12;

// The log of the probability that each failure is at the highest level of its stratum.
double LogTop(const Strata& strata, absl::Span<const std::size_t> which, const Effects& effects,
              std::size_t sign, double effect) {
  const std::vector<LifeCounts::Cell>& cells = strata.cells;
  double log = 0;
  for (std::size_t begin = 0, end = 0; begin < cells.size(); begin = end) {
    end = strata.EndOf(begin);
    double failures = 0;
    int top = 0;
    for (std::size_t k = begin; k < end; ++k) {
      failures += cells[k].failures;
      if (strata.hours[k] > 0 || cells[k].failures > 0) {
        top = std::max<int>(top, cells[k].signs[sign]);
      }
    }
    if (!(failures > 0)) continue;
    double at_top = 0;
    double below = 0;
    for (std::size_t k = begin; k < end; ++k) {
      const double own = strata.hours[k] * std::exp(Score(effects, cells[k].signs, which));
      if (cells[k].signs[sign] == top) {
        at_top += own;
      } else {
        below += own * std::exp(effect * (cells[k].signs[sign] - top));
      }
    }
    if (at_top > 0) log -= failures * std::log1p(below / at_top);
  }
  return log;
}

// The effect at which LogTop, which rises with the effect, is `log`.
double EffectAt(const Strata& strata, absl::Span<const std::size_t> which, const Effects& effects,
                std::size_t sign, double log) {
  double low = -kMostEffect;
  double high = kMostEffect;
  for (int round = 0; round < 60; ++round) {
    const double middle = (low + high) / 2;
    (LogTop(strata, which, effects, sign, middle) < log ? low : high) = middle;
  }
  return high;
}

}  // namespace

Separation SeparationOf(const Strata& strata, std::size_t sign) {
  const std::vector<LifeCounts::Cell>& cells = strata.cells;
  bool differs = false;
  bool always_top = true;
  bool never_above = true;
  for (std::size_t begin = 0, end = 0; begin < cells.size(); begin = end) {
    end = strata.EndOf(begin);
    int top = -1;
    int bottom = -1;
    for (std::size_t k = begin; k < end; ++k) {
      if (!(strata.hours[k] > 0 || cells[k].failures > 0)) continue;
      const int level = cells[k].signs[sign];
      top = std::max(top, level);
      bottom = bottom < 0 ? level : std::min(bottom, level);
    }
    if (top == bottom) continue;
    for (std::size_t k = begin; k < end; ++k) {
      if (!(cells[k].failures > 0)) continue;
      differs = true;
      always_top = always_top && cells[k].signs[sign] == top;
      never_above = never_above && cells[k].signs[sign] == bottom;
    }
  }
  if (!differs) return Separation::kNone;
  if (always_top) return Separation::kAlwaysTop;
  return never_above ? Separation::kNeverTop : Separation::kBetween;
}

TopEffect TopEffectOf(const Strata& strata, absl::Span<const std::size_t> which,
                      const Effects& effects, std::size_t sign) {
  constexpr double kDeviations = 1.959963984540054;
  const double middle = EffectAt(strata, which, effects, sign, std::log(0.5));
  const double low = EffectAt(strata, which, effects, sign, std::log(0.025));
  return {std::max(0.0, middle), (middle - low) / kDeviations};
}

double TopTailOf(const Strata& strata, absl::Span<const std::size_t> which, const Effects& effects,
                 std::size_t sign) {
  return std::exp(LogTop(strata, which, effects, sign, 0));
}

}  // namespace galen::advisor
