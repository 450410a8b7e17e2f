#include "common/timeseries/robust.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/timeseries/grid.h"

namespace galen::timeseries {

std::vector<float> KnownOf(absl::Span<const float> values) {
  std::vector<float> known;
  known.reserve(values.size());
  for (const float value : values) {
    if (IsKnown(value)) known.push_back(value);
  }
  return known;
}

namespace {

// From this many on it pays to look at a few first.
constexpr std::size_t kMany = 256;
constexpr std::size_t kFew = 64;

// Moves values in [low, high] to the front and returns how many are below it. One pass without
// mispredicted branches.
std::size_t Gather(absl::Span<float> values, float low, float high, std::vector<float>& band) {
  band.resize(values.size());
  std::size_t below = 0;
  std::size_t size = 0;
  for (const float value : values) {
    below += value < low ? 1 : 0;
    band[size] = value;
    size += value >= low && value <= high ? 1 : 0;
  }
  band.resize(size);
  return below;
}

float MiddleOf(absl::Span<float> known, std::size_t rank, bool two) {
  const auto middle = known.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(known.begin(), middle, known.end());
  if (!two) return *middle;
  const float below = *std::max_element(known.begin(), middle);
  return below + (*middle - below) / 2;
}

}  // namespace

float MedianInPlace(absl::Span<float> known) {
  if (known.empty()) return kUnknown;
  const std::size_t rank = known.size() / 2;
  const bool two = known.size() % 2 == 0;
  if (known.size() >= kMany) {
    // A sample gives a band that nearly always contains the median (Floyd and Rivest 1975); if it
    // does not, all values are searched.
    std::array<float, kFew> few{};
    const std::size_t stride = known.size() / kFew;
    for (std::size_t i = 0; i < kFew; ++i) few[i] = known[i * stride];
    std::sort(few.begin(), few.end());
    static thread_local std::vector<float> band;
    const std::size_t below = Gather(known, few[kFew * 3 / 8], few[kFew * 5 / 8], band);
    if (below + 1 <= rank && rank < below + band.size())
      return MiddleOf(absl::MakeSpan(band), rank - below, two);
  }
  return MiddleOf(known, rank, two);
}

float Quantile(absl::Span<const float> values, double share) {
  std::vector<float> known = KnownOf(values);
  if (known.empty()) return kUnknown;
  if (share == 0.5) return MedianInPlace(absl::MakeSpan(known));
  const double rank = std::clamp(share, 0.0, 1.0) * static_cast<double>(known.size() - 1);
  const auto at = known.begin() + static_cast<std::ptrdiff_t>(std::llround(rank));
  std::nth_element(known.begin(), at, known.end());
  return *at;
}

Center CenterOf(absl::Span<const float> values, double trim) {
  std::vector<float> known = KnownOf(values);
  Center center;
  center.known = known.size();
  center.median = MedianInPlace(absl::MakeSpan(known));
  if (known.empty()) return center;
  for (float& value : known) value = std::fabs(value - center.median);
  center.spread = kMadToSigma * MedianInPlace(absl::MakeSpan(known));
  if (center.spread == 0) {
    const auto kept = std::max<std::size_t>(
        1, static_cast<std::size_t>(std::ceil((1 - trim) * static_cast<double>(known.size()))));
    if (kept < known.size()) {
      std::nth_element(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(kept) - 1,
                       known.end());
      known.resize(kept);
    }
    double sum = 0;
    for (const float deviation : known) sum += static_cast<double>(deviation);
    center.spread = kMeanAdToSigma * static_cast<float>(sum / static_cast<double>(known.size()));
  }
  return center;
}

float NoiseOf(absl::Span<const float> values) {
  std::vector<float> steps;
  steps.reserve(values.size());
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (IsKnown(values[i]) && IsKnown(values[i - 1])) {
      steps.push_back(std::fabs(values[i] - values[i - 1]));
    }
  }
  if (steps.empty()) return kUnknown;
  double sum = 0;
  for (const float step : steps) sum += step;
  const float root2 = std::sqrt(2.0F);
  const float noise = kMadToSigma * MedianInPlace(absl::MakeSpan(steps)) / root2;
  if (noise > 0) return noise;
  return kMeanAdToSigma * static_cast<float>(sum / static_cast<double>(steps.size())) / root2;
}

}  // namespace galen::timeseries
