#include "services/advisor/learning/proportional_hazards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace galen::advisor {
namespace {

using ::galen::testing::StatusIs;
using ::testing::HasSubstr;

// Weeks of remission of Freireich's trial of 6-mercaptopurine (Blood, 1963), the example of Cox
// (1972) and of every textbook since.
const std::vector<std::pair<double, bool>> kTreated = {
    {6, true},   {6, true},   {6, true},   {6, false},  {7, true},   {9, false},  {10, true},
    {10, false}, {11, false}, {13, true},  {16, true},  {17, false}, {19, false}, {20, false},
    {22, true},  {23, true},  {25, false}, {32, false}, {32, false}, {34, false}, {35, false}};
const std::vector<double> kPlacebo = {1, 1, 2,  2,  3,  4,  4,  5,  5,  8, 8,
                                      8, 8, 11, 11, 12, 12, 15, 17, 22, 23};

// Each week an age, and who lives in it at risk for all of it: Cox's model with Breslow's ties, of
// which textbooks give 1.509 (error 0.410).
TEST(Cox, IsThatOfTheTextbooksOnTheSameTrial) {
  std::vector<LifeCounts::Cell> cells;
  const auto add = [&](double weeks, bool failed, std::uint8_t placebo) {
    for (std::size_t week = 1; week <= static_cast<std::size_t>(std::min(weeks, 23.0)); ++week) {
      LifeCounts::Cell cell;
      cell.age = week;
      cell.signs[0] = placebo;
      cell.hours = 1;
      cell.failures = failed && week == static_cast<std::size_t>(weeks) ? 1 : 0;
      cells.push_back(cell);
    }
  };
  for (const auto& [weeks, failed] : kTreated) add(weeks, failed, 0);
  for (const double weeks : kPlacebo) add(weeks, true, 1);
  const auto model = FitHazard(cells);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_NEAR(model->signs[0].effect, 1.509, 2e-3);
  EXPECT_NEAR(model->signs[0].error, 0.4096, 2e-3);
  EXPECT_LT(model->signs[0].p, 2e-4);
  EXPECT_EQ(model->failures, 30);
}

// Constant hazards: sign 0 trebles, sign 1 does nothing.
LifeCounts MadeUp(int runs, double factor, std::uint64_t seed) {
  LifeCounts counts;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  for (int i = 0; i < runs; ++i) {
    Signs signs{};
    signs[0] = random() % 2;
    signs[1] = random() % 2;
    const double rate = 0.01 * (signs[0] != 0 ? factor : 1);
    const double life = -std::log(1 - uniform(random)) / rate;
    counts.Add(static_cast<std::uint32_t>(i % 3), 0, 0, std::min(life, 48.0), signs, life < 48);
  }
  return counts;
}

TEST(Hazard, RisesWhenTheSignWasSeenBeforeFailures) {
  const auto cells = MadeUp(20'000, 3, 5).Cells();
  const auto model = FitHazard(cells);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_NEAR(std::exp(model->signs[0].effect), 3, 0.2);
  EXPECT_LT(model->signs[0].p, 1e-10);
  EXPECT_GT(model->signs[1].p, 0.001);
  Signs seen{};
  seen[0] = 1;
  // 1 - exp(-0.03 * 10)
  EXPECT_NEAR(model->Probability(5, 10, seen, 0, 0), 0.259, 0.02);
  EXPECT_NEAR(model->Probability(5, 10, Signs{}, 0, 0), 0.0952, 0.01);
  const HazardModel::Ratio ratio = model->RatioOf(seen);
  EXPECT_LT(ratio.low, 3);
  EXPECT_GT(ratio.high, 3);
  EXPECT_GT(ratio.low, 2.5);
}

// On machines 1 the sign is seen five times as often, and runs fail five times as often with it or
// without.
TEST(Hazard, ASignThatIsMoreFrequentOnBadMachinesRaisesNothing) {
  LifeCounts counts;
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> uniform;
  for (int i = 0; i < 40'000; ++i) {
    const std::uint32_t machines = i % 2;
    Signs signs{};
    signs[0] = uniform(random) < (machines == 1 ? 0.5 : 0.1) ? 1 : 0;
    const double life = -std::log(1 - uniform(random)) / (machines == 1 ? 0.05 : 0.01);
    counts.Add(0, machines, 0, std::min(life, 10.0), signs, life < 10);
  }
  const auto model = FitHazard(counts.Cells());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_NEAR(model->signs[0].effect, 0, 0.08);
  EXPECT_GT(model->signs[0].p, 0.01);
  EXPECT_NEAR(model->machines.at(1) / model->machines.at(0), 5, 0.3);
}

TEST(Hazard, OfTooFewFailuresIsNotKnownAndNotZero) {
  LifeCounts counts;
  counts.Add(0, 0, 0, 100, Signs{}, true);
  EXPECT_THAT(FitHazard(counts.Cells()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("10 are needed")));
}

// Every second run has sign 0, and a third of both kinds fails.
LifeCounts Usual() {
  LifeCounts counts;
  for (int i = 0; i < 100; ++i) {
    Signs signs{};
    signs[0] = i % 2;
    counts.Add(0, 0, 0, 1 + i % 7, signs, i % 3 == 0);
  }
  return counts;
}

TEST(Hazard, OfSignsThatAlwaysComeTogetherOneHasTheEffect) {
  LifeCounts counts;
  for (int i = 0; i < 100; ++i) {
    Signs signs{};
    signs[0] = signs[1] = i % 2;
    counts.Add(0, 0, 0, 1 + i % 7, signs, i % 3 == 0);
  }
  const auto model = FitHazard(counts.Cells());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_NE(model->signs[0].error > 0, model->signs[1].error > 0);
  const auto one = FitHazard(Usual().Cells());
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_NEAR(model->signs[0].effect + model->signs[1].effect, one->signs[0].effect, 1e-9);
}

// The first run on new machines has a unique sign, and fails.
TEST(Hazard, ASignOfWhichNothingCanBeSaidTakesNothingFromTheOthers) {
  LifeCounts counts = Usual();
  Signs rare{};
  rare[1] = 1;
  counts.Add(0, /*machines=*/1, 0, 0.5, rare, true);
  const auto model = FitHazard(counts.Cells());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->signs[1].effect, 0);
  EXPECT_EQ(model->signs[1].p, 1);
  const auto without = FitHazard(Usual().Cells());
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_NEAR(model->signs[0].effect, without->signs[0].effect, 0.01);
  EXPECT_GT(model->signs[0].error, 0);
}

TEST(Hazard, ASignThatWasSeenBeforeEveryFailureRaisesIt) {
  LifeCounts counts;
  for (int i = 0; i < 240; ++i) {
    Signs signs{};
    signs[0] = i % 10 == 0 ? 1 : 0;
    counts.Add(0, 0, 0, 1, signs, i % 20 == 0);
  }
  const auto model = FitHazard(counts.Cells());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->signs[0].failures, 12);
  EXPECT_LT(model->signs[0].p, 1e-9);
  EXPECT_GT(model->signs[0].effect, 3);
  Signs seen{};
  seen[0] = 1;
  EXPECT_GT(model->RatioOf(seen).low, 2);
  EXPECT_GT(model->Probability(0, 1, seen, 0, 0), 0.3);
}

TEST(Hazard, ThatNobodyFailedYetAtAnAgeIsNoCertainty) {
  LifeCounts counts = Usual();
  for (int i = 0; i < 5; ++i) counts.Add(0, 0, 0, 300, Signs{}, false);
  const auto model = FitHazard(counts.Cells());
  ASSERT_TRUE(model.ok()) << model.status();
  const double late = model->Probability(200, 24, Signs{}, 0, 0);
  EXPECT_GT(late, 0.001);
  EXPECT_LT(late, model->Probability(1, 24, Signs{}, 0, 0));
}

}  // namespace
}  // namespace galen::advisor
