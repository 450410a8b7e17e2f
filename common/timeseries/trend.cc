#include "common/timeseries/trend.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/timeseries/align.h"
#include "common/timeseries/grid.h"
#include "common/timeseries/robust.h"

namespace galen::timeseries {
namespace {

struct Point {
  double at = 0;  // sample
  double value = 0;
};

std::vector<Point> Points(absl::Span<const float> values, std::size_t most) {
  const std::size_t block = std::max<std::size_t>(1, (values.size() + most - 1) / most);
  const std::vector<float> medians = BlockMedians(values, block);
  std::vector<Point> points;
  for (std::size_t i = 0; i < medians.size(); ++i) {
    if (!IsKnown(medians[i])) continue;
    const double begin = static_cast<double>(i * block);
    const double end = static_cast<double>(std::min((i + 1) * block, values.size()));
    points.push_back({(begin + end - 1) / 2, medians[i]});
  }
  return points;
}

// The correlation of neighbours around the line, 0 and up.
double Inertia(absl::Span<const Point> points, double slope) {
  std::vector<double> rests;
  double mean = 0;
  for (const Point& point : points) {
    rests.push_back(point.value - slope * point.at);
    mean += rests.back() / static_cast<double>(points.size());
  }
  double all = 0;
  double next = 0;
  for (std::size_t i = 0; i < rests.size(); ++i) {
    all += (rests[i] - mean) * (rests[i] - mean);
    if (i > 0) next += (rests[i] - mean) * (rests[i - 1] - mean);
  }
  return all > 0 ? std::clamp(next / all, 0.0, 0.95) : 0;
}

// Whether the lowest values rise from part to part.
bool FloorRises(absl::Span<const float> values, const TrendOptions& options) {
  const std::size_t parts = std::max<std::size_t>(2, options.floors);
  std::vector<float> floors;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t begin = values.size() * i / parts;
    const std::size_t end = values.size() * (i + 1) / parts;
    const float low = Quantile(values.subspan(begin, end - begin), 0.05);
    if (IsKnown(low)) floors.push_back(low);
  }
  std::size_t falls = 0;
  for (std::size_t i = 1; i < floors.size(); ++i) falls += floors[i] < floors[i - 1] ? 1 : 0;
  return floors.size() >= 3 && falls <= options.most_falls && floors.back() > floors.front();
}

}  // namespace

Trend TrendOf(absl::Span<const float> values, const TrendOptions& options) {
  Trend trend;
  const std::vector<Point> points =
      Points(values, std::clamp<std::size_t>(options.most_points, 8, 2000));
  trend.known = points.size();
  if (points.size() < std::max<std::size_t>(options.least_points, 3)) return trend;
  std::vector<double> slopes;
  slopes.reserve(points.size() * (points.size() - 1) / 2);
  double rises = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = i + 1; j < points.size(); ++j) {
      const double up = points[j].value - points[i].value;
      slopes.push_back(up / (points[j].at - points[i].at));
      rises += up > 0 ? 1 : (up < 0 ? -1 : 0);
    }
  }
  std::sort(slopes.begin(), slopes.end());
  const auto slope_at = [&](double rank) {
    return slopes[static_cast<std::size_t>(
        std::clamp(rank, 0.0, static_cast<double>(slopes.size() - 1)))];
  };
  trend.per_sample = slope_at(static_cast<double>(slopes.size()) / 2);
  const double n = static_cast<double>(points.size());
  // Ties leave fewer ranks to differ.
  std::vector<double> sorted;
  sorted.reserve(points.size());
  for (const Point& point : points) sorted.push_back(point.value);
  std::sort(sorted.begin(), sorted.end());
  double variance = n * (n - 1) * (2 * n + 5);
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i;
    while (end < sorted.size() && sorted[end] == sorted[i]) ++end;
    const double t = static_cast<double>(end - i);
    variance -= t * (t - 1) * (2 * t + 5);
    i = end;
  }
  const double inertia = Inertia(points, trend.per_sample);
  variance = variance / 18 * (1 + inertia) / (1 - inertia);
  const double deviation = std::sqrt(std::max(variance, 0.0));
  if (deviation > 0) {
    const double z = (std::fabs(rises) - 1) / deviation;
    trend.chance = z <= 0 ? 1 : std::erfc(z / std::sqrt(2.0));
  }
  const double middle = static_cast<double>(slopes.size()) / 2;
  trend.least = slope_at(middle - 1.96 * deviation / 2);
  trend.most = slope_at(middle + 1.96 * deviation / 2);
  trend.growth = trend.per_sample * static_cast<double>(values.size() - 1);
  if (trend.chance > options.most_chance || trend.per_sample == 0) {
    trend.direction = Direction::kSteady;
    return trend;
  }
  trend.direction = trend.per_sample > 0 ? Direction::kGrows : Direction::kShrinks;
  const auto begin = Median(values.subspan(0, std::max<std::size_t>(1, values.size() / 8)));
  trend.leaks = trend.direction == Direction::kGrows && IsKnown(begin) &&
                trend.growth > options.least_growth * std::fabs(begin) &&
                FloorRises(values, options);
  return trend;
}

}  // namespace galen::timeseries
