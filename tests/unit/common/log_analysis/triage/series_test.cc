#include "common/log_analysis/triage/series.h"

#include <limits>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::triage {
namespace {

TEST(Series, AMillionNumbersAreAFewPointsAndAnExactSum) {
  Series series;
  for (int i = 0; i < 1'000'000; ++i) series.Add(i, i, true);
  EXPECT_EQ(series.count(), 1'000'000);
  EXPECT_EQ(series.sum(), 499'999'500'000.0);
  EXPECT_EQ(series.min(), 0);
  EXPECT_EQ(series.max(), 999'999);
  const auto points = series.Points();
  EXPECT_LE(points.size(), Series::kPoints);
  EXPECT_GE(points.size(), Series::kPoints / 2);
  std::int64_t count = 0;
  double sum = 0;
  for (const Series::Point& point : points) {
    count += point.count;
    sum += point.mean * static_cast<double>(point.count);
  }
  EXPECT_EQ(count, series.count());
  EXPECT_NEAR(sum, series.sum(), 1);
  EXPECT_EQ(points[1].step, points[0].count);
}

TEST(Series, ASumKeepsSmallNumbersBesideLargeOnes) {
  ExactSum sum;
  sum.Add(1e16);
  for (int i = 0; i < 1000; ++i) sum.Add(0.125);
  sum.Add(-1e16);
  EXPECT_EQ(sum.Get(), 125);
}

TEST(Series, WhatIsNoNumberIsLeftOut) {
  Series series;
  series.Add(1, std::numeric_limits<double>::quiet_NaN(), true);
  series.Add(2, std::numeric_limits<double>::infinity(), true);
  EXPECT_EQ(series.count(), 0);
  EXPECT_EQ(series.SteadyMean(), std::nullopt);
  EXPECT_EQ(series.Change(), std::nullopt);
  EXPECT_TRUE(series.Points().empty());
}

TEST(Series, TheSteadyMeanLeavesTheFirstStepsOut) {
  Series series;
  series.Add(0, 300, false);
  EXPECT_EQ(series.SteadyMean(), 300);  // better than nothing
  series.Add(1, 10, true);
  series.Add(2, 20, true);
  EXPECT_EQ(series.SteadyMean(), 15);
}

TEST(Series, TheEndIsComparedWithTheBeginning) {
  Series series;
  for (int i = 0; i < 5; ++i) series.Add(i, 1, false);
  for (int i = 5; i < 15; ++i) series.Add(i, 100, true);
  EXPECT_EQ(series.Change(), std::nullopt);  // of the same steps
  for (int i = 15; i < 100; ++i) series.Add(i, 80, true);
  EXPECT_NEAR(*series.Change(), -0.2, 1e-12);
}

}  // namespace
}  // namespace galen::triage
