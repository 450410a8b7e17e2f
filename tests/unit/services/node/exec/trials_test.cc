#include "services/node/exec/trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "common/knowledge/rules.h"
#include "exec_testing.h"

namespace galen::node {
namespace {

using ::testing::ElementsAre;

// The findings of trials of A=1 and B=1 with these ends, and of the run without either after them.
std::map<std::string, std::string> Told(TrialEnd a, TrialEnd b, TrialEnd without,
                                        std::vector<std::string>* runs = nullptr) {
  const CheckOutput output =
      RunTrials({{.finding = "a", .settings = {"A=1"}}, {.finding = "b", .settings = {"B=1"}}},
                "n1", [&](const std::vector<std::string>& settings) {
                  if (runs != nullptr) runs->push_back(settings.empty() ? "" : settings.front());
                  if (settings.empty()) return without;
                  return settings.front() == "A=1" ? a : b;
                });
  std::map<std::string, std::string> told;
  for (const galen::v1::Finding& finding : output.findings) {
    told[finding.name()] = knowledge::ValueText(finding);
  }
  return told;
}

TEST(Trials, WhatPassesCountsWhereItFailsAgainWithout) {
  constexpr TrialEnd kPassed = TrialEnd::kPassed;
  constexpr TrialEnd kFailed = TrialEnd::kFailed;
  constexpr TrialEnd kNotRun = TrialEnd::kNotRun;
  const struct {
    TrialEnd a, b, without;
    const char *told_of_a, *told_of_b;
  } kCases[] = {
      {kPassed, kFailed, kFailed, "true", "false"},
      {kPassed, kPassed, kFailed, "true", "true"},
      {kPassed, kFailed, kPassed, "unknown", "false"},  // it fails now and then
      {kPassed, kFailed, kNotRun, "unknown", "false"},
      {kFailed, kNotRun, kNotRun, "false", "unknown"},
  };
  for (const auto& each : kCases) {
    const auto told = Told(each.a, each.b, each.without);
    EXPECT_EQ(told.at("a"), each.told_of_a);
    EXPECT_EQ(told.at("b"), each.told_of_b);
  }
}

TEST(Trials, WithoutOneThatPassesNothingIsRunAgain) {
  std::vector<std::string> runs;
  Told(TrialEnd::kFailed, TrialEnd::kFailed, TrialEnd::kFailed, &runs);
  EXPECT_THAT(runs, ElementsAre("A=1", "B=1"));
  runs.clear();
  Told(TrialEnd::kPassed, TrialEnd::kFailed, TrialEnd::kFailed, &runs);
  EXPECT_THAT(runs, ElementsAre("A=1", "B=1", ""));
}

TEST(Trials, AnAllReduceThatFailsIsTriedWithoutPeerAccessAndWithoutNvls) {
  const std::vector<Trial> trials = TrialsOf(*Shipped().FindCheck("nccl.allreduce"));
  ASSERT_EQ(trials.size(), 2U);
  EXPECT_THAT(trials[0].settings, ElementsAre("NCCL_P2P_DISABLE=1"));
  EXPECT_THAT(trials[1].settings, ElementsAre("NCCL_NVLS_ENABLE=0"));
}

}  // namespace
}  // namespace galen::node
