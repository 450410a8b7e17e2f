// The one machine of a job that a fault befell. How well over many jobs of full size: bench/series.
#include "common/series/faulty_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/testing/series/made_up_job.h"
#include "tests/testing/series/numbers.h"

namespace galen::series {
namespace {

using galen::testing::JobShape;
using galen::testing::MadeUpJob;
using galen::testing::MakeUpJob;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Panel> Healthy(std::size_t machines, std::size_t metrics, unsigned seed) {
  std::vector<Panel> panels;
  for (std::size_t m = 0; m < metrics; ++m) {
    Panel& panel = panels.emplace_back(machines, 600);
    for (std::size_t i = 0; i < machines; ++i) {
      Put(panel, i, Noise(600, seed * 101 + static_cast<unsigned>(m * 1000 + i), 1, 50));
    }
  }
  return panels;
}

FaultReport Find(const std::vector<Panel>& panels) {
  std::vector<const Panel*> views;
  for (const Panel& panel : panels) views.push_back(&panel);
  return FindFaultyMachine(views);
}

// 64 machines and 12 metrics of the made-up jobs: at least what Minder reached on its own jobs of
// full size.
TEST(FaultyMachineTest, IsFoundInMostMadeUpJobs) {
  int right = 0;
  int wrong = 0;
  int missed = 0;
  for (std::uint64_t seed = 5000; seed < 5040; ++seed) {
    const MadeUpJob job = MakeUpJob({.machines = 64, .metrics = 16}, seed);
    const FaultReport report = FindFaultyMachine(job.views());
    const bool found =
        job.kind == "unreachable"
            ? report.silent == std::vector<std::size_t>{*job.faulty} && !report.suspect
            : report.suspect.has_value() && report.suspect->machine == job.faulty;
    right += found ? 1 : 0;
    wrong += report.suspect.has_value() && !found ? 1 : 0;
    missed += job.faulty.has_value() && !found ? 1 : 0;
  }
  const double f1 = 2.0 * right / (2.0 * right + wrong + missed);
  EXPECT_GE(f1, 0.893) << right << " right, " << wrong << " wrong, " << missed << " missed";
}

TEST(FaultyMachineTest, SaysWhereWhenAndInWhat) {
  std::vector<Panel> panels = Healthy(30, 5, 1);
  for (std::size_t t = 320; t < 600; ++t) {
    panels[1].Row(17)[t] -= 3;
    panels[3].Row(17)[t] += 6;
  }
  const FaultReport report = Find(panels);
  ASSERT_TRUE(report.suspect.has_value());
  EXPECT_EQ(report.suspect->machine, 17U);
  EXPECT_NEAR(static_cast<double>(report.suspect->begin), 320, 16);
  ASSERT_EQ(report.suspect->metrics.size(), 2U);
  EXPECT_EQ(report.suspect->metrics[0].metric, 3U);
  EXPECT_GT(report.suspect->metrics[0].noises, 3);
  EXPECT_EQ(report.suspect->metrics[1].metric, 1U);
  EXPECT_LT(report.suspect->metrics[1].noises, -3);
}

TEST(FaultyMachineTest, NobodyIsAccusedOfWhatAllDo) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::vector<Panel> panels = Healthy(40, 4, seed);
    for (Panel& panel : panels) {
      for (std::size_t i = 0; i < 40; ++i) {
        for (std::size_t t = 300; t < 500; ++t) panel.Row(i)[t] -= 40;
      }
    }
    EXPECT_FALSE(Find(panels).suspect.has_value()) << "seed " << seed;
  }
}

TEST(FaultyMachineTest, AGroupThatDriftsIsAGroup) {
  std::vector<Panel> panels = Healthy(60, 4, 2);
  for (std::size_t i = 10; i < 16; ++i) {
    for (std::size_t t = 300; t < 600; ++t) panels[2].Row(i)[t] += 5 + 0.1F * static_cast<float>(i);
  }
  const FaultReport report = Find(panels);
  EXPECT_FALSE(report.suspect.has_value());
  EXPECT_TRUE(report.group);
}

TEST(FaultyMachineTest, OneThatAlwaysDiffersIsNotFaulty) {
  std::vector<Panel> panels = Healthy(40, 4, 3);
  for (Panel& panel : panels) {
    for (float& value : panel.Row(4)) value += 30;
  }
  EXPECT_FALSE(Find(panels).suspect.has_value());
}

TEST(FaultyMachineTest, OneThatFallsSilentIsUnknownAndNotZero) {
  std::vector<Panel> panels = Healthy(40, 4, 4);
  for (Panel& panel : panels) {
    for (std::size_t t = 350; t < 600; ++t) panel.Row(9)[t] = kUnknown;
  }
  const FaultReport report = Find(panels);
  EXPECT_THAT(report.silent, ElementsAre(9));
  EXPECT_FALSE(report.suspect.has_value());
}

TEST(FaultyMachineTest, ACollectorThatHangsIsNoFaultOfItsMachine) {
  std::vector<Panel> panels = Healthy(40, 4, 5);
  for (std::size_t i = 0; i < 40; ++i) {
    for (std::size_t t = 400; t < 600; ++t)
      panels[0].Row(i)[t] -= 30;  // all others go on to another phase
  }
  for (Panel& panel : panels) {
    for (std::size_t t = 200; t < 600; ++t) panel.Row(21)[t] = panel.Row(21)[200];
  }
  const FaultReport report = Find(panels);
  EXPECT_THAT(report.frozen, ElementsAre(21));
  EXPECT_FALSE(report.suspect.has_value());
}

TEST(FaultyMachineTest, OneMetricThatStandsStillMayBeTheFault) {
  std::vector<Panel> panels = Healthy(40, 4, 6);
  for (std::size_t t = 300; t < 600; ++t) panels[1].Row(8)[t] = 0;
  const FaultReport report = Find(panels);
  ASSERT_TRUE(report.suspect.has_value());
  EXPECT_EQ(report.suspect->machine, 8U);
  EXPECT_THAT(report.frozen, IsEmpty());
}

TEST(FaultyMachineTest, TooLittleIsSaid) {
  EXPECT_TRUE(Find(Healthy(3, 2, 7)).too_little);
  EXPECT_TRUE(FindFaultyMachine({}).too_little);
  const Panel small(10, 50);
  const Panel other(11, 50);
  EXPECT_TRUE(FindFaultyMachine({&small}).too_little);
  EXPECT_TRUE(FindFaultyMachine({&small, &other}).too_little);
}

}  // namespace
}  // namespace galen::series
