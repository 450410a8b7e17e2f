#include "services/execution/playbook/series_test_parts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/timeseries/change_points.h"

namespace galen::playbook {

Value ValueOf(float value) {
  if (!timeseries::IsKnown(value)) return std::monostate();
  return static_cast<double>(value);
}

SeriesTestResult Unknown(const telemetry::Place& place, std::string why) {
  return {place, std::monostate(), std::move(why), -1};
}

std::size_t PointsOf(double minutes, const timeseries::Grid& grid) {
  const double points = minutes * 60 / absl::ToDoubleSeconds(grid.step);
  return static_cast<std::size_t>(std::clamp(points, 1.0, static_cast<double>(grid.size) + 1));
}

absl::Span<const float> Before(absl::Span<const float> row, std::size_t end, std::size_t points) {
  end = std::min(end, row.size());
  const std::size_t size = std::min(points, end);
  return row.subspan(end - size, size);
}

double KnownShare(absl::Span<const float> values) {
  if (values.empty()) return 0;
  const auto known = std::count_if(values.begin(), values.end(), timeseries::IsKnown);
  return static_cast<double>(known) / static_cast<double>(values.size());
}

float WorkingLevel(absl::Span<const float> row, std::size_t shortest) {
  float high = timeseries::kUnknown;
  for (const timeseries::Phase& phase :
       timeseries::FindPhases(row, {.shortest = std::max<std::size_t>(3, shortest)})) {
    if (phase.known > 0 && !(phase.level <= high)) high = phase.level;
  }
  return high;
}

std::string Clock(const timeseries::Grid& grid, std::size_t point) {
  return absl::FormatTime("%H:%M:%S UTC", grid.At(std::min(point, grid.size)), absl::UTCTimeZone());
}

std::string Short(double value) {
  const double size = std::abs(value);
  if (size >= 1e6) return absl::StrFormat("%.3g", value);
  if (size >= 100 || value == std::round(value)) return absl::StrFormat("%.0f", value);
  if (size >= 1) return absl::StrFormat("%.1f", value);
  return absl::StrFormat("%.3g", value);
}

}  // namespace galen::playbook
