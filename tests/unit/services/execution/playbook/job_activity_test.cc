#include "services/execution/playbook/job_activity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace galen::playbook {
namespace scene_test {

using ::testing::SizeIs;

constexpr std::size_t kPoints = 480;  // two hours

timeseries::Grid TwoHours() {
  return {absl::FromUnixSeconds(1'700'000'000), absl::Seconds(15), kPoints};
}

Rows Of(const std::function<double(std::size_t)>& value, double noise = 0.01) {
  Rows rows{"throughput", "tokens/s", false, TwoHours(), {{.node = "n0"}}, {1, kPoints}};
  std::mt19937 bits(7);
  std::normal_distribution<double> normal(0, noise);
  for (std::size_t i = 0; i < kPoints; ++i) {
    rows.values.Row(0)[i] = static_cast<float>(value(i) * (1 + normal(bits)));
  }
  return rows;
}

JobActivity JobActivityOf(const std::function<double(std::size_t)>& value, double noise = 0.01) {
  const Rows rows = Of(value, noise);
  return MakeJobActivity(rows.grid, &rows, nullptr);
}

TEST(JobActivityTest, TheShapeOfThroughputIsToldByItsPhases) {
  const struct {
    const char* what;
    std::function<double(std::size_t)> value;
    Shape shape;
    double loss;
  } kCases[] = {
      {"nothing happens", [](std::size_t) { return 3000.0; }, Shape::kSteady, 0},
      {"two stretches that come back",
       [](std::size_t i) { return (i > 100 && i < 180) || (i > 300 && i < 360) ? 2340.0 : 3000.0; },
       Shape::kPhased, 22},
      {"a fall that stays", [](std::size_t i) { return i > 240 ? 2400.0 : 3000.0; }, Shape::kOneOff,
       20},
      {"a slope", [](std::size_t i) { return 3000.0 - 1.8 * static_cast<double>(i); },
       Shape::kGradual, 0},
      {"a checkpoint now and then", [](std::size_t i) { return i % 60 == 3 ? 900.0 : 3000.0; },
       Shape::kSteady, 0},
      {"a slow start", [](std::size_t i) { return i < 8 ? 1000.0 : 3000.0; }, Shape::kSteady, 0},
  };
  for (const auto& each : kCases) {
    const JobActivity activity = JobActivityOf(each.value);
    EXPECT_TRUE(activity.known) << each.what;
    EXPECT_EQ(Word(activity.shape), Word(each.shape)) << each.what;
    if (each.loss > 0) {
      EXPECT_NEAR(activity.loss, each.loss, 1.5) << each.what;
    }
  }
}

TEST(JobActivityTest, PhasesBeginAndEndWhereTheyDo) {
  const JobActivity activity =
      JobActivityOf([](std::size_t i) { return i >= 160 && i < 320 ? 2340.0 : 3000.0; });
  ASSERT_THAT(activity.phases, SizeIs(3));
  EXPECT_NEAR(static_cast<double>(activity.phases[1].begin), 160, 3);
  EXPECT_NEAR(static_cast<double>(activity.phases[1].end), 320, 3);
}

TEST(JobActivityTest, WhatAnExporterRepeatsOfADeadJobIsNoStep) {
  const Rows rows = Of([](std::size_t) { return 3000.0; });
  Rows stale = rows;
  for (std::size_t i = 300; i < kPoints; ++i) stale.values.Row(0)[i] = stale.values.Row(0)[299];
  const JobActivity activity = MakeJobActivity(stale.grid, &stale, nullptr);
  EXPECT_EQ(activity.end, 300U);
  EXPECT_EQ(activity.shape, Shape::kSteady);
}

TEST(JobActivityTest, WithoutThroughputNothingIsSaidOfIt) {
  const JobActivity activity = MakeJobActivity(TwoHours(), nullptr, nullptr);
  EXPECT_FALSE(activity.known);
  EXPECT_EQ(activity.shape, Shape::kUnknown);
  EXPECT_EQ(activity.end, kPoints);
}

TEST(JobActivityTest, RunsAreStretchesWithStepsBetweenLongPauses) {
  Rows rows = Of([](std::size_t) { return 3000.0; });
  for (std::size_t i = 200; i < 280; ++i) rows.values.Row(0)[i] = timeseries::kUnknown;
  for (std::size_t i = 400; i < 420; ++i) rows.values.Row(0)[i] = rows.values.Row(0)[399];
  const std::vector<playbook::Run> runs = RunsOf(rows, absl::Minutes(10));
  ASSERT_THAT(runs, SizeIs(2));
  EXPECT_EQ(runs[0].end, 200U);
  EXPECT_EQ(runs[1].begin, 280U);
  EXPECT_EQ(runs[1].end, kPoints);
}

}  // namespace scene_test
}  // namespace galen::playbook
