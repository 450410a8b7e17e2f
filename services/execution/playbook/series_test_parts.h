#ifndef SERVICES_EXECUTION_PLAYBOOK_SERIES_TEST_PARTS_H_
#define SERVICES_EXECUTION_PLAYBOOK_SERIES_TEST_PARTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "services/execution/playbook/series_tests.h"

// Helpers that several tests share.
namespace galen::playbook {

inline constexpr char kNobody[] = "none";

// A value; unknown if it is not a number.
Value ValueOf(float value);
SeriesTestResult Unknown(const telemetry::Place& place, std::string why);

// How many points of the axis `minutes` have.
std::size_t PointsOf(double minutes, const timeseries::Grid& grid);

// The last `minutes` before `end`, of which less is taken where there is less.
absl::Span<const float> Before(absl::Span<const float> row, std::size_t end, std::size_t points);

// The share of values that are known.
double KnownShare(absl::Span<const float> values);

// The level that a place holds at its best: the highest phase that lasts for `shortest` points.
// NaN: nothing is known.
float WorkingLevel(absl::Span<const float> row, std::size_t shortest);

// "14:05 UTC".
std::string Clock(const timeseries::Grid& grid, std::size_t point);
// A number as people write it: at most four digits.
std::string Short(double value);

// SeriesTests of each file.
std::vector<SeriesTest> LevelTests();
std::vector<SeriesTest> PeerTests();
std::vector<SeriesTest> WaitTests();
std::vector<SeriesTest> AliveTests();
std::vector<SeriesTest> JobTests();
std::vector<SeriesTest> CompareTests();

}  // namespace galen::playbook

#endif  // SERVICES_EXECUTION_PLAYBOOK_SERIES_TEST_PARTS_H_
