#include "common/timeseries/change_points.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "common/timeseries/align.h"
#include "common/timeseries/grid.h"
#include "common/timeseries/robust.h"

namespace galen::timeseries {
namespace {

constexpr std::size_t kNeighbours = 5;
constexpr float kSpike = 3;  // noises

// `values`, all known, without its spikes.
std::vector<float> WithoutSpikes(absl::Span<const float> values, float noise) {
  std::vector<float> calm(values.begin(), values.end());
  constexpr std::size_t half = kNeighbours / 2;
  for (std::size_t i = half; i + half < values.size(); ++i) {
    std::array<float, kNeighbours> around{};
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(i - half), kNeighbours,
                around.begin());
    const float median = MedianInPlace(absl::MakeSpan(around));
    calm[i] = std::clamp(values[i], median - kSpike * noise, median + kSpike * noise);
  }
  return calm;
}

// The beginnings of phases, by PELT; the first is 0. The cost of a stretch is its squared distance
// from its mean, in variances of the noise.
std::vector<std::size_t> Begins(absl::Span<const float> values, float noise, double penalty,
                                std::size_t shortest) {
  const std::size_t n = values.size();
  std::vector<double> sum(n + 1, 0);
  std::vector<double> squares(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const double value = (static_cast<double>(values[i]) - values[0]) / noise;
    sum[i + 1] = sum[i] + value;
    squares[i + 1] = squares[i] + value * value;
  }
  const auto cost = [&](std::size_t begin, std::size_t end) {
    const double total = sum[end] - sum[begin];
    return squares[end] - squares[begin] - total * total / static_cast<double>(end - begin);
  };
  std::vector<double> best(n + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> from(n + 1, 0);
  best[0] = -penalty;
  std::vector<std::size_t> open = {0};
  for (std::size_t end = shortest; end <= n; ++end) {
    for (const std::size_t begin : open) {
      const double with = best[begin] + cost(begin, end) + penalty;
      if (with < best[end]) {
        best[end] = with;
        from[end] = begin;
      }
    }
    // A begin that cannot start the last phase now never will.
    std::erase_if(open,
                  [&](std::size_t begin) { return best[begin] + cost(begin, end) > best[end]; });
    const std::size_t next = end + 1 - shortest;
    if (next >= shortest) open.push_back(next);
  }
  std::vector<std::size_t> begins;
  for (std::size_t end = n; end > 0; end = from[end]) begins.push_back(from[end]);
  std::reverse(begins.begin(), begins.end());
  return begins;
}

Phase Describe(absl::Span<const float> values, std::size_t begin, std::size_t end) {
  const Center center = CenterOf(values.subspan(begin, end - begin));
  return {begin, end, center.median, center.spread, center.known};
}

bool SameLevel(const Phase& a, const Phase& b, double least_shift) {
  const double spread = std::max(a.spread, b.spread);
  return std::fabs(static_cast<double>(a.level) - b.level) <= least_shift * spread;
}

}  // namespace

std::vector<Phase> FindPhases(absl::Span<const float> values, const ChangeOptions& options) {
  const std::size_t most = std::max<std::size_t>(options.most_points, 16);
  const std::size_t block = (values.size() + most - 1) / most;
  const std::vector<float> points =
      block > 1 ? BlockMedians(values, block) : std::vector<float>(values.begin(), values.end());
  std::vector<std::size_t> places;  // in `points`
  std::vector<float> known;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!IsKnown(points[i])) continue;
    places.push_back(i);
    known.push_back(points[i]);
  }
  if (known.empty()) return {};
  const std::size_t shortest = std::max<std::size_t>(
      1, block > 1 ? (options.shortest + block - 1) / block : options.shortest);
  const float noise = NoiseOf(known);
  if (known.size() < 2 * shortest || !(noise > 0)) return {Describe(values, 0, values.size())};
  const std::vector<float> calm = WithoutSpikes(known, noise);
  const double penalty = options.penalty * std::log(static_cast<double>(known.size()));
  std::vector<std::size_t> begins = Begins(calm, noise, penalty, shortest);
  std::vector<Phase> phases;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::size_t begin = i == 0 ? 0 : places[begins[i]] * block;
    const std::size_t end = i + 1 == begins.size() ? values.size() : places[begins[i + 1]] * block;
    phases.push_back(Describe(values, begin, end));
  }
  // The closest neighbours first, until all differ.
  while (phases.size() > 1) {
    std::size_t closest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i + 1 < phases.size(); ++i) {
      if (!SameLevel(phases[i], phases[i + 1], options.least_shift)) continue;
      const double apart = std::fabs(static_cast<double>(phases[i].level) - phases[i + 1].level);
      if (apart < least) {
        least = apart;
        closest = i;
      }
    }
    if (!std::isfinite(least)) break;
    phases[closest] = Describe(values, phases[closest].begin, phases[closest + 1].end);
    phases.erase(phases.begin() + static_cast<std::ptrdiff_t>(closest) + 1);
  }
  return phases;
}

}  // namespace galen::timeseries
