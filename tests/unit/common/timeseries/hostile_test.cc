// Hostile values: every function returns, and results without data are not numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "common/timeseries/align.h"
#include "common/timeseries/change_points.h"
#include "common/timeseries/correlation.h"
#include "common/timeseries/frozen.h"
#include "common/timeseries/peers.h"
#include "common/timeseries/period.h"
#include "common/timeseries/trend.h"
#include "tests/testing/timeseries/numbers.h"

namespace galen::timeseries {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();

// Series of bad taste.
std::vector<std::vector<float>> Hostile() {
  std::vector<std::vector<float>> all = {{},
                                         {1},
                                         {kUnknown},
                                         {1, 2},
                                         {kInf, -kInf},
                                         std::vector<float>(64, kUnknown),
                                         std::vector<float>(64, kInf),
                                         std::vector<float>(64, 0),
                                         std::vector<float>(64, kMax),
                                         std::vector<float>(64, -0.0F)};
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 bits(seed);
    std::vector<float> values(1 + bits() % 700);
    const float choices[] = {kUnknown, kInf, -kInf, kMax, -kMax, 0, -0.0F, 1, 1e-45F, 3e38F, 17};
    for (float& value : values) value = choices[bits() % 11];
    all.push_back(values);
  }
  return all;
}

TEST(HostileTest, EveryFunctionReturnsOnEverySeries) {
  for (const std::vector<float>& values : Hostile()) {
    std::size_t end = 0;
    for (const Phase& phase : FindPhases(values)) {
      EXPECT_EQ(phase.begin, end);
      EXPECT_GT(phase.end, phase.begin);
      end = phase.end;
    }
    EXPECT_TRUE(end == values.size() || end == 0);
    const Trend trend = TrendOf(values);
    EXPECT_TRUE(trend.direction != Direction::kUndecided || !trend.leaks);
    PeriodOf(values);
    LongestConstantRun(values);
    LastKnown(values);
    for (const std::vector<float>& other : Hostile()) {
      const auto found = Correlate(values, other);
      EXPECT_TRUE(!found.has_value() || std::fabs(found->value) <= 1.0);
    }
  }
}

TEST(HostileTest, EveryPanelOfThemReturns) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 bits(seed);
    std::vector<Panel> panels;
    for (int m = 0; m < 3; ++m) {
      Panel& panel = panels.emplace_back(8, 400);
      for (std::size_t i = 0; i < 8; ++i) {
        for (float& value : panel.Row(i)) {
          value = bits() % 3 == 0    ? kUnknown
                  : bits() % 50 == 0 ? kMax
                  : bits() % 60 == 0 ? kInf
                                     : static_cast<float>(bits() % 5);
        }
      }
      FindOutliers(panel);
      Forget(FindGhosts(panel), panel);
    }
  }
}

TEST(HostileTest, TimesOfBadTasteNeitherHangNorCount) {
  const Grid grid =
      *MakeGrid(absl::FromUnixSeconds(0), absl::FromUnixSeconds(100), absl::Seconds(1));
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
  const std::vector<Sample> samples = {{kFirst, 1}, {kLast, 2}, {kFirst, 3}, {0, 4}, {50'000, 5}};
  for (const float value : Align(samples, grid, {.most_age = absl::InfiniteDuration()}).values)
    EXPECT_EQ(value, 1);
  const Rate rate = RateOf(samples, grid, {.most_gap = absl::InfiniteDuration()});
  EXPECT_EQ(rate.disordered, 3U);
  const std::vector<Sample> falling = {
      {0, -5}, {1000, -10}, {2000, 1e308}, {3000, -1e308}, {4000, 0}};
  for (const float value : RateOf(falling, grid).per_second.values)
    EXPECT_TRUE(!IsKnown(value) || value >= 0);
}

}  // namespace
}  // namespace galen::timeseries
