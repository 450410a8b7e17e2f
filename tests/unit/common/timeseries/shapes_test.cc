// Properties of a single series: phases, lags, trends, periods, and whether it was measured at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "common/timeseries/change_points.h"
#include "common/timeseries/correlation.h"
#include "common/timeseries/frozen.h"
#include "common/timeseries/period.h"
#include "common/timeseries/robust.h"
#include "common/timeseries/trend.h"
#include "tests/testing/timeseries/numbers.h"

namespace galen::timeseries {
namespace {

using ::testing::ElementsAre;
using ::testing::IsNan;
using ::testing::SizeIs;

TEST(RobustTest, TheMedianIsThatOfASort) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 bits(seed);
    const std::size_t size = 1 + bits() % 1500;
    std::vector<float> values(size);
    // Some have few distinct values, so that many are equal.
    const unsigned range = seed % 3 == 0 ? 4 : 1'000'000;
    for (float& value : values) value = static_cast<float>(bits() % range);
    std::vector<float> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    const float expected =
        size % 2 == 1 ? sorted[size / 2]
                      : sorted[size / 2 - 1] + (sorted[size / 2] - sorted[size / 2 - 1]) / 2;
    EXPECT_EQ(Median(values), expected) << "seed " << seed;
  }
}

TEST(RobustTest, TheSpreadIsADeviationAndBearsAThirdOfNonsense) {
  std::vector<float> values = Noise(3000, 1, 5, 100);
  EXPECT_NEAR(CenterOf(values).spread, 5, 0.3);
  for (std::size_t i = 0; i < values.size(); i += 3) values[i] = 1e9F;
  EXPECT_NEAR(CenterOf(values).median, 100, 6);
  EXPECT_LT(CenterOf(values).spread, 20);
  EXPECT_THAT(Median({}), IsNan());
  EXPECT_EQ(CenterOf({}).known, 0U);
}

TEST(ChangePointsTest, FindsLevelsAndTheirBorders) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::vector<float> values = Noise(900, seed, 1, 50);
    for (std::size_t i = 300; i < 420; ++i) values[i] -= 8;
    for (std::size_t i = 700; i < 900; ++i) values[i] += 5;
    const std::vector<Phase> phases = FindPhases(values);
    ASSERT_THAT(phases, SizeIs(4)) << "seed " << seed;
    EXPECT_NEAR(static_cast<double>(phases[1].begin), 300, 3);
    EXPECT_NEAR(static_cast<double>(phases[2].begin), 420, 3);
    EXPECT_NEAR(static_cast<double>(phases[3].begin), 700, 3);
    EXPECT_NEAR(phases[1].level, 42, 0.7);
  }
}

TEST(ChangePointsTest, NoiseAndSpikesAreOnePhase) {
  int split = 0;
  for (unsigned seed = 100; seed < 200; ++seed) {
    std::vector<float> values = Noise(900, seed, 2, 10);
    for (std::size_t i = 50; i < 900; i += 97) values[i] += 500;
    split += FindPhases(values).size() == 1 ? 0 : 1;
  }
  EXPECT_LE(split, 2);
}

TEST(ChangePointsTest, PhasesCoverASeriesWithGaps) {
  std::vector<float> values = Noise(600, 7, 1, 0);
  for (std::size_t i = 300; i < 600; ++i) values[i] += 20;
  for (std::size_t i = 100; i < 180; ++i) values[i] = kUnknown;
  const std::vector<Phase> phases = FindPhases(values);
  ASSERT_THAT(phases, SizeIs(2));
  EXPECT_EQ(phases[0].begin, 0U);
  EXPECT_EQ(phases[0].end, phases[1].begin);
  EXPECT_EQ(phases[1].end, 600U);
  EXPECT_EQ(phases[0].known, phases[0].end - 80);
}

TEST(ChangePointsTest, AWholeNumberThatFlickersIsOnePhase) {
  std::vector<float> values(900);
  std::mt19937 bits(3);
  for (float& value : values) value = bits() % 4 == 0 ? 61 : 60;
  EXPECT_THAT(FindPhases(values), SizeIs(1));
}

TEST(ChangePointsTest, ALongSeriesIsTruncatedIntoBlocks) {
  std::vector<float> values = Noise(100'000, 5, 1, 0);
  for (std::size_t i = 40'000; i < 100'000; ++i) values[i] += 10;
  const std::vector<Phase> phases = FindPhases(values);
  ASSERT_THAT(phases, SizeIs(2));
  EXPECT_NEAR(static_cast<double>(phases[1].begin), 40'000, 100);
}

TEST(CorrelationTest, IsThatOfTheKnownPairs) {
  const std::vector<float> cause = Noise(600, 11);
  std::vector<float> effect = Noise(600, 12, 0.3F);
  for (std::size_t i = 0; i < 600; ++i) effect[i] -= 2 * cause[i];
  effect[7] = kUnknown;
  const auto found = Correlate(cause, effect);
  ASSERT_TRUE(found.has_value());
  EXPECT_LT(found->value, -0.9);
  EXPECT_EQ(found->pairs, 599U);
}

TEST(CorrelationTest, SaysNothingOfConstantsAndOfTooLittle) {
  const std::vector<float> constant(100, 5);
  EXPECT_FALSE(Correlate(constant, Noise(100, 1)).has_value());
  EXPECT_FALSE(Correlate(Noise(1, 1), Noise(1, 2)).has_value());
  EXPECT_FALSE(Correlate(std::vector<float>(100, kUnknown), Noise(100, 2)).has_value());
}

TEST(TrendTest, MemoryThatIsNeverGivenBackLeaks) {
  std::vector<float> values = Noise(900, 1, 0.5F, 100);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += 0.02F * static_cast<float>(i);
  const Trend trend = TrendOf(values);
  EXPECT_EQ(trend.direction, Direction::kGrows);
  EXPECT_TRUE(trend.leaks);
  EXPECT_NEAR(trend.per_sample, 0.02, 0.001);
  EXPECT_LE(trend.least, trend.per_sample);
  EXPECT_GE(trend.most, trend.per_sample);
  EXPECT_NEAR(trend.growth, 18, 1);
}

TEST(TrendTest, WhatComesBackIsNoLeak) {
  std::vector<float> values = Noise(900, 2, 0.5F, 100);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += 0.2F * static_cast<float>(i % 300);
  EXPECT_FALSE(TrendOf(values).leaks);
  std::vector<float> spike = Noise(900, 3, 0.5F, 100);
  for (std::size_t i = 400; i < 450; ++i) spike[i] += 60;
  EXPECT_FALSE(TrendOf(spike).leaks);
}

// Few series without a trend, including random walks, are reported to have one.
TEST(TrendTest, NoiseHasNoTrend) {
  int noise = 0;
  int wandering = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::vector<float> values = Noise(400, seed, 1, 50);
    noise += TrendOf(values).direction == Direction::kSteady ? 0 : 1;
    for (std::size_t i = 1; i < values.size(); ++i)
      values[i] = 50 + 0.6F * (values[i - 1] - 50) + (values[i] - 50);
    wandering += TrendOf(values).direction == Direction::kSteady ? 0 : 1;
  }
  EXPECT_LE(noise, 8);
  EXPECT_LE(wandering, 16);
}

TEST(TrendTest, SaysNothingOfTooLittle) {
  EXPECT_EQ(TrendOf({}).direction, Direction::kUndecided);
  EXPECT_EQ(TrendOf(std::vector<float>{1, 2, 3}).direction, Direction::kUndecided);
  EXPECT_EQ(TrendOf(std::vector<float>(100, kUnknown)).direction, Direction::kUndecided);
  EXPECT_EQ(TrendOf(std::vector<float>(100, 7)).direction, Direction::kSteady);
}

TEST(PeriodTest, FindsThePeriodAndNotItsMultiples) {
  for (const double period : {7.0, 30.0, 60.5, 200.0}) {
    std::vector<float> values = Noise(900, 4, 0.3F, 10);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] +=
          std::sin(6.28319F * static_cast<float>(i / period)) + 0.01F * static_cast<float>(i);
    const auto found = PeriodOf(values);
    ASSERT_TRUE(found.has_value()) << period;
    EXPECT_NEAR(found->samples, period, 0.03 * period + 0.5);
  }
}

TEST(PeriodTest, SpikesAtEvenDistancesAreAPeriod) {
  std::vector<float> values = Noise(900, 4, 0.2F, 10);
  for (std::size_t i = 5; i < values.size(); i += 50) {
    values[i] += 8;
    values[i + 1] += 8;
  }
  const auto found = PeriodOf(values);
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->samples, 50, 1);
}

TEST(PeriodTest, NoiseWanderersAndConstantsHaveNone) {
  int found = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::vector<float> values = Noise(900, seed);
    found += PeriodOf(values).has_value() ? 1 : 0;
  }
  EXPECT_EQ(found, 0);
  EXPECT_FALSE(PeriodOf(std::vector<float>(900, 3)).has_value());
  EXPECT_FALSE(PeriodOf(std::vector<float>(900, kUnknown)).has_value());
  EXPECT_FALSE(PeriodOf({}).has_value());
}

TEST(FrozenTest, ACollectorThatHangsIsAGhost) {
  Panel panel(5, 300);
  for (std::size_t i = 0; i < 5; ++i) Put(panel, i, Noise(300, static_cast<unsigned>(i), 4, 700));
  for (std::size_t i = 120; i < 300; ++i) panel.Row(3)[i] = panel.Row(3)[120];
  const std::vector<Ghost> ghosts = FindGhosts(panel);
  ASSERT_THAT(ghosts, SizeIs(1));
  EXPECT_EQ(ghosts[0].entity, 3U);
  EXPECT_EQ(ghosts[0].begin, 120U);
  EXPECT_EQ(ghosts[0].end, 300U);
  Forget(ghosts, panel);
  EXPECT_FALSE(IsKnown(panel.Row(3)[200]));
  EXPECT_EQ(LastKnown(panel.Row(3)), 119U);
}

TEST(FrozenTest, AValueThatIsConstantEverywhereIsMeantToBe) {
  Panel panel(5, 300);
  for (std::size_t i = 0; i < 5; ++i) Put(panel, i, std::vector<float>(300, 80));
  EXPECT_THAT(FindGhosts(panel), SizeIs(0));
  Panel alone(1, 300);
  Put(alone, 0, std::vector<float>(300, 80));
  EXPECT_THAT(FindGhosts(alone), SizeIs(0));
}

}  // namespace
}  // namespace galen::timeseries
