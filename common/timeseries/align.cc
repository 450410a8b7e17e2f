#include "common/timeseries/align.h"

#include <algorithm>
#include <cmath>

#include "common/timeseries/robust.h"

namespace galen::timeseries {
namespace {

// A value that a float cannot hold is as unknown as an unmeasured one.
float Narrow(double value) {
  const auto narrow = static_cast<float>(value);
  return std::isfinite(narrow) ? narrow : kUnknown;
}

}  // namespace

Series Align(absl::Span<const Sample> samples, const Grid& grid, const AlignOptions& options) {
  Series series{grid, std::vector<float>(grid.size, kUnknown)};
  const double most_age = absl::ToDoubleMilliseconds(options.most_age);
  const Sample* last = nullptr;
  std::size_t next = 0;
  for (std::size_t i = 0; i < grid.size; ++i) {
    const std::int64_t at = absl::ToUnixMillis(grid.At(i));
    for (; next < samples.size() && samples[next].at <= at; ++next) {
      if (last == nullptr || samples[next].at > last->at) last = &samples[next];
    }
    // (In doubles: times from a hostile source could overflow.)
    if (last != nullptr && static_cast<double>(at) - static_cast<double>(last->at) <= most_age) {
      series.values[i] = Narrow(last->value);
    }
  }
  return series;
}

Rate RateOf(absl::Span<const Sample> samples, const Grid& grid, const RateOptions& options) {
  Rate rate{{grid, std::vector<float>(grid.size, kUnknown)}};
  if (grid.size == 0) return rate;
  const double begin = static_cast<double>(absl::ToUnixMillis(grid.start));
  const double step = absl::ToDoubleMilliseconds(grid.step);
  const double most_gap = absl::ToDoubleMilliseconds(options.most_gap);
  std::vector<double> grown(grid.size, 0);
  std::vector<double> covered(grid.size, 0);  // milliseconds
  const Sample* last = nullptr;
  for (const Sample& sample : samples) {
    if (!std::isfinite(sample.value)) {
      last = nullptr;  // the growth around it is unknown
      continue;
    }
    if (last != nullptr && sample.at <= last->at) {
      ++rate.disordered;
      continue;
    }
    const Sample* const from = last;
    last = &sample;
    if (from == nullptr) continue;
    double growth = sample.value - from->value;
    if (growth < 0) {
      // After a wrap the counter is less than half of its range behind.
      if (options.wraps_at > 0 && growth < -options.wraps_at / 2) {
        growth += options.wraps_at;
      } else {
        growth = sample.value;
        ++rate.resets;
      }
    }
    const double gap = static_cast<double>(sample.at) - static_cast<double>(from->at);
    if (gap > most_gap || growth < 0) continue;
    // Point i covers (begin + (i - 1) * step, begin + i * step].
    double at = std::max((static_cast<double>(from->at) - begin) / step, -1.0);
    const double end = std::min((static_cast<double>(sample.at) - begin) / step,
                                static_cast<double>(grid.size - 1));
    while (at < end) {
      const double cell = std::floor(at) + 1;
      const double until = std::min(cell, end);
      const auto i = static_cast<std::size_t>(cell);
      grown[i] += growth * (until - at) * step / gap;
      covered[i] += (until - at) * step;
      at = until;
    }
  }
  for (std::size_t i = 0; i < grid.size; ++i) {
    if (covered[i] >= step / 2) {
      rate.per_second.values[i] = Narrow(grown[i] / covered[i] * 1000);
    }
  }
  return rate;
}

std::vector<float> BlockMedians(absl::Span<const float> values, std::size_t block) {
  std::vector<float> medians;
  if (block == 0) return medians;
  medians.reserve(values.size() / block + 1);
  for (std::size_t at = 0; at < values.size(); at += block) {
    const absl::Span<const float> part = values.subspan(at, block);
    std::vector<float> known = KnownOf(part);
    medians.push_back(known.size() * 2 < part.size() ? kUnknown
                                                     : MedianInPlace(absl::MakeSpan(known)));
  }
  return medians;
}

}  // namespace galen::timeseries
