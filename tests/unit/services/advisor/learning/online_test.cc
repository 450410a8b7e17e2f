#include "services/advisor/learning/online.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace galen::advisor {
namespace {

using Do = Step::Do;
using Stage = Confirmation::Stage;

const BuildUpSigns& TwoSigns() {
  static const auto signs = new absl::StatusOr<BuildUpSigns>(
      BuildUpSigns::Parse("signs:\n"
                          "  - {name: a, title: a grows, resource: memory, check: gpu.memory_test, "
                          "levels: [1, 2, 3], unit: u, source: s}\n"
                          "  - {name: b, title: b grows, resource: network, check: rdma.loopback, "
                          "levels: [1, 2, 3], unit: u, source: s}\n",
                          "test.yaml"));
  return **signs;
}

Learned WithModel() {
  Learned learned;
  learned.hazard.emplace();
  learned.hazard->base.fill(0.01);
  learned.hazard->signs[0].effect = 1.5;
  learned.hazard->signs[1].effect = 0.5;
  return learned;
}

Hazard Of(std::uint8_t a, std::uint8_t b) {
  RunningJob job{.hours = 10};
  job.signs[0] = a;
  job.signs[1] = b;
  return HazardOf(WithModel(), job, 24);
}

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

TEST(Hazard, OfNothingLearnedIsUnknown) {
  const Hazard hazard = HazardOf(Learned(), {}, 24);
  EXPECT_FALSE(hazard.known);
  EXPECT_FALSE(hazard.why.empty());
  Confirmation confirmation;
  EXPECT_EQ(OnHazard(hazard, TwoSigns(), kNow, {}, confirmation).what, Do::kNothing);
}

TEST(Hazard, NamesTheStrongestSignFirst) {
  const Hazard hazard = Of(1, 2);
  ASSERT_EQ(hazard.because.size(), 2u);
  EXPECT_EQ(hazard.because[0].sign, 0u);
  EXPECT_GT(hazard.probability, Of(0, 2).probability);
}

TEST(Confirmation, TheCheckOfTheSignIsAskedForBeforeAnybodyIsAlarmed) {
  Confirmation confirmation;
  const Step step = OnHazard(Of(2, 0), TwoSigns(), kNow, {}, confirmation);
  EXPECT_EQ(step.what, Do::kRunCheck);
  EXPECT_EQ(step.check, "gpu.memory_test");
  // Asked once, however often the hazard is evaluated.
  EXPECT_EQ(OnHazard(Of(3, 0), TwoSigns(), kNow, {}, confirmation).what, Do::kNothing);
  EXPECT_EQ(OnTest("gpu.memory_test", TestResult::kFailed, kNow, confirmation).what, Do::kAlarm);
  EXPECT_EQ(confirmation.stage, Stage::kConfirmed);
  // Alarmed once.
  EXPECT_EQ(OnTest("gpu.memory_test", TestResult::kFailed, kNow, confirmation).what, Do::kNothing);
}

TEST(Confirmation, ATestThatPassedQuietsUntilTheHazardDoubles) {
  Confirmation confirmation;
  OnHazard(Of(2, 0), TwoSigns(), kNow, {}, confirmation);
  EXPECT_EQ(OnTest("gpu.memory_test", TestResult::kPassed, kNow, confirmation).what, Do::kNothing);
  EXPECT_EQ(OnHazard(Of(2, 0), TwoSigns(), kNow + absl::Hours(1), {}, confirmation).what,
            Do::kNothing);
  EXPECT_EQ(OnHazard(Of(2, 0), TwoSigns(), kNow + absl::Hours(7), {}, confirmation).what,
            Do::kRunCheck);
}

TEST(Confirmation, ATestThatDidNotRunSaysNothingAndIsTriedAgain) {
  Confirmation confirmation;
  OnHazard(Of(2, 0), TwoSigns(), kNow, {}, confirmation);
  EXPECT_EQ(OnTest("gpu.memory_test", TestResult::kNotRun, kNow, confirmation).what, Do::kNothing);
  EXPECT_EQ(confirmation.stage, Stage::kUntested);
  EXPECT_EQ(OnHazard(Of(2, 0), TwoSigns(), kNow + absl::Minutes(5), {}, confirmation).what,
            Do::kNothing);
  EXPECT_EQ(OnHazard(Of(2, 0), TwoSigns(), kNow + absl::Minutes(31), {}, confirmation).what,
            Do::kRunCheck);
}

TEST(Confirmation, ATestThatNobodyAnsweredIsAskedForAgainAfterTwoHours) {
  Confirmation confirmation;
  OnHazard(Of(2, 0), TwoSigns(), kNow, {}, confirmation);
  EXPECT_EQ(OnHazard(Of(2, 0), TwoSigns(), kNow + absl::Minutes(119), {}, confirmation).what,
            Do::kNothing);
  EXPECT_EQ(OnHazard(Of(2, 0), TwoSigns(), kNow + absl::Minutes(120), {}, confirmation).what,
            Do::kRunCheck);
}

// For any events in any order: an alarm requires a failure of the very check that was requested.
TEST(Confirmation, NoOrderOfEventsAlarmsWithoutAFailedTest) {
  std::mt19937_64 random(7);
  for (int run = 0; run < 2000; ++run) {
    Confirmation confirmation;
    std::string asked;
    absl::Time asked_at;
    absl::Time now = kNow;
    for (int i = 0; i < 30; ++i) {
      now += absl::Minutes(static_cast<int>(random() % 120));
      if (random() % 2 == 0) {
        const Hazard hazard = Of(random() % 4, random() % 4);
        const Step step = OnHazard(hazard, TwoSigns(), now, {}, confirmation);
        ASSERT_NE(step.what, Do::kAlarm);
        if (step.what == Do::kRunCheck) {
          ASSERT_TRUE(asked.empty() || now >= asked_at + AlarmOptions().lost);
          asked = step.check;
          asked_at = now;
        }
        continue;
      }
      const std::string check = random() % 2 == 0 ? "gpu.memory_test" : "rdma.loopback";
      const auto result = static_cast<TestResult>(random() % 3);
      const Step step = OnTest(check, result, now, confirmation);
      if (step.what == Do::kAlarm) {
        ASSERT_EQ(check, asked);
        ASSERT_EQ(result, TestResult::kFailed);
      }
      if (check == asked) asked.clear();
    }
  }
}

}  // namespace
}  // namespace galen::advisor
