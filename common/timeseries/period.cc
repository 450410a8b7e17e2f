#include "common/timeseries/period.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/timeseries/align.h"
#include "common/timeseries/grid.h"

namespace galen::timeseries {
namespace {

// The residual of the known values after a straight line is removed, in deviations; 0 for the
// unknown ones, whose weight is 0. False: the series does not move.
bool Detrend(absl::Span<const float> values, std::vector<float>& rest, std::vector<float>& weight) {
  double n = 0;
  double st = 0;
  double sv = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!IsKnown(values[i])) continue;
    n += 1;
    st += static_cast<double>(i);
    sv += values[i];
  }
  if (n < 4) return false;
  double tt = 0;
  double tv = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!IsKnown(values[i])) continue;
    const double t = static_cast<double>(i) - st / n;
    tt += t * t;
    tv += t * (values[i] - sv / n);
  }
  const double slope = tt > 0 ? tv / tt : 0;
  double squares = 0;
  std::vector<double> off(values.size(), 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!IsKnown(values[i])) continue;
    off[i] = values[i] - sv / n - slope * (static_cast<double>(i) - st / n);
    squares += off[i] * off[i];
  }
  const double deviation = std::sqrt(squares / n);
  if (deviation <= 1e-6 * std::fabs(sv / n)) return false;
  rest.assign(values.size(), 0);
  weight.assign(values.size(), 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!IsKnown(values[i])) continue;
    rest[i] = static_cast<float>(off[i] / deviation);
    weight[i] = 1;
  }
  return true;
}

}  // namespace

std::optional<Period> PeriodOf(absl::Span<const float> all, const PeriodOptions& options) {
  const std::size_t most = std::max<std::size_t>(options.most_points, 16);
  const std::size_t block = std::max<std::size_t>(1, (all.size() + most - 1) / most);
  const std::vector<float> values =
      block > 1 ? BlockMedians(all, block) : std::vector<float>(all.begin(), all.end());
  std::vector<float> rest;
  std::vector<float> weight;
  if (!Detrend(values, rest, weight)) return std::nullopt;
  const auto longest = static_cast<std::size_t>(static_cast<double>(values.size()) /
                                                std::max(options.least_repeats, 1.0));
  const std::size_t shortest = std::max<std::size_t>(1, options.shortest / block);
  if (longest <= shortest + 1) return std::nullopt;
  std::vector<float> like(longest + 2, 0);  // by lag
  for (std::size_t lag = 1; lag < like.size() && lag < values.size(); ++lag) {
    float together = 0;
    float pairs = 0;
    for (std::size_t i = 0; i + lag < values.size(); ++i) {
      together += rest[i] * rest[i + lag];
      pairs += weight[i] * weight[i + lag];
    }
    like[lag] = pairs * 2 >= static_cast<float>(values.size() - lag) ? together / pairs : 0;
  }
  const auto is_peak = [&](std::size_t lag) {
    return like[lag] >= options.least_strength && (lag == 1 || like[lag] > like[lag - 1]) &&
           like[lag] >= like[lag + 1];
  };
  float highest = 0;
  for (std::size_t lag = shortest; lag <= longest; ++lag) {
    if (is_peak(lag)) highest = std::max(highest, like[lag]);
  }
  for (std::size_t lag = shortest; lag <= longest; ++lag) {
    // A series that only drifts resembles itself nearby: a period first falls below its strength.
    const bool fell = std::any_of(like.begin() + 1, like.begin() + static_cast<std::ptrdiff_t>(lag),
                                  [&](float value) { return value < 0.5F * like[lag]; });
    if (!is_peak(lag) || like[lag] < 0.9F * highest || (!fell && lag > 1)) continue;
    // The peak lies between samples.
    const double curve = static_cast<double>(like[lag - 1]) - 2.0 * like[lag] + like[lag + 1];
    const double shift = lag > 1 && curve < 0 ? 0.5 * (like[lag - 1] - like[lag + 1]) / curve : 0;
    return Period{(static_cast<double>(lag) + shift) * static_cast<double>(block), like[lag]};
  }
  return std::nullopt;
}

}  // namespace galen::timeseries
