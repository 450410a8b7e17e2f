// Claims about which signs are reported.
#include "services/watch/early_warning/detection/policy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/watch/early_warning/detection/detectors.h"

namespace galen::watch::detection {
namespace {

Notice Saw(const std::string& rule, const std::string& node, double score = 1.5,
           const std::string& device = "", const std::string& job = "") {
  Notice notice;
  notice.rule = rule;
  notice.where = {node, device, job, ""};
  notice.score = score;
  return notice;
}

class PolicyTest : public ::testing::Test {
 protected:
  // Repeats the same minute; returns all reports.
  std::vector<Alarm> Run(Policy& policy, int minutes, const std::vector<Notice>& notices) {
    std::vector<Alarm> all;
    for (int i = 0; i < minutes; ++i) {
      now_ += absl::Minutes(1);
      for (Alarm& alarm : policy.Step(now_, notices)) all.push_back(std::move(alarm));
    }
    return all;
  }

  RuleSet rule_set_;
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
};

TEST_F(PolicyTest, ACauseIsToldOnceForAsLongAsItLasts) {
  Policy policy(rule_set_);
  EXPECT_EQ(Run(policy, 3 * 1440, {Saw("clock", "n1", 2, "3")}).size(), 1u);
}

TEST_F(PolicyTest, AfterItWasQuietForLongItIsToldAgain) {
  Policy policy(rule_set_);
  EXPECT_EQ(Run(policy, 30, {Saw("clock", "n1")}).size(), 1u);
  EXPECT_TRUE(Run(policy, 60, {}).empty());
  EXPECT_TRUE(Run(policy, 30, {Saw("clock", "n1")}).empty()) << "the same cause";
  EXPECT_TRUE(Run(policy, 7 * 60, {}).empty());
  EXPECT_EQ(Run(policy, 30, {Saw("clock", "n1")}).size(), 1u);
}

TEST_F(PolicyTest, WhatDoesNotReachItsLimitOrIsOverAtOnceIsNotTold) {
  Policy policy(rule_set_);
  EXPECT_TRUE(Run(policy, 100, {Saw("clock", "n1", 0.9)}).empty());
  EXPECT_TRUE(Run(policy, 1, {Saw("clock", "n1", 1.2)}).empty());
  EXPECT_TRUE(Run(policy, 100, {Saw("clock", "n1", 0.3)}).empty());
}

// Hysteresis: a sign that fell below its limit, but not to its end, is not reported as a new one.
TEST_F(PolicyTest, AroundItsLimitItIsOneCause) {
  Policy policy(rule_set_);
  std::size_t told = 0;
  for (int i = 0; i < 200; ++i) {
    told += Run(policy, 3, {Saw("clock", "n1", 1.1)}).size();
    told += Run(policy, 3, {Saw("clock", "n1", 0.7)}).size();
  }
  EXPECT_EQ(told, 1u);
}

TEST_F(PolicyTest, ManyGpusOfAMachineAreOneCauseThatNamesThemAll) {
  Policy policy(rule_set_);
  std::vector<Notice> notices;
  for (int gpu = 0; gpu < 8; ++gpu) notices.push_back(Saw("power", "n1", 2, absl::StrCat(gpu)));
  const std::vector<Alarm> told = Run(policy, 60, notices);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].notices.size(), 8u);
}

TEST_F(PolicyTest, MachinesOfOneSwitchAreOneCause) {
  Policy policy(rule_set_);
  std::vector<Notice> notices;
  for (int node = 0; node < 16; ++node) {
    notices.push_back(Saw("retransmissions", absl::StrCat("n", node)));
    notices.back().where.network = "leaf-1";
  }
  EXPECT_EQ(Run(policy, 60, notices).size(), 1u);
}

TEST_F(PolicyTest, MachinesThatHaveNothingInCommonAreCausesOfTheirOwn) {
  Policy policy(rule_set_);
  EXPECT_EQ(
      Run(policy, 60, {Saw("power", "n1", 2, "0", "j1"), Saw("power", "n2", 2, "0", "j2")}).size(),
      2u);
}

TEST_F(PolicyTest, AJobThatItsMachineSlowsDownIsNotToldOnceMore) {
  Policy policy(rule_set_);
  EXPECT_EQ(Run(policy, 600, {Saw("clock", "n1", 2, "3", "j1")}).size(), 1u);
  EXPECT_TRUE(
      Run(policy, 60, {Saw("clock", "n1", 2, "3", "j1"), Saw("throughput", "", 2, "", "j1")})
          .empty());
}

TEST_F(PolicyTest, AnotherMachineOfASlowJobIsToldItself) {
  Policy policy(rule_set_);
  const Notice first = Saw("clock", "n1", 2, "3", "j1");
  const Notice slow = Saw("throughput", "", 2, "", "j1");
  EXPECT_EQ(Run(policy, 600, {first, slow}).size(), 1u);
  EXPECT_EQ(Run(policy, 60, {first, slow, Saw("memory", "n7", 2, "0", "j1")}).size(), 1u);
}

TEST_F(PolicyTest, WhatIsPlannedIsNotToldAndWhatStaysAfterwardsIs) {
  Policy policy(rule_set_);
  rule_set_.silences.push_back({now_, now_ + absl::Hours(1), "n1", "", "new firmware"});
  EXPECT_TRUE(Run(policy, 58, {Saw("clock", "n1")}).empty());
  EXPECT_EQ(Run(policy, 60, {Saw("clock", "n1")}).size(), 1u);
  rule_set_.silences.push_back({now_, now_ + absl::Hours(1), "", "j9", "restart"});
  EXPECT_TRUE(Run(policy, 50, {Saw("throughput", "", 2, "", "j9")}).empty());
}

TEST_F(PolicyTest, AFalseAlarmRaisesTheLimitOfItsRuleAloneAndIsForgotten) {
  Policy policy(rule_set_);
  const std::vector<Alarm> told = Run(policy, 30, {Saw("clock", "n1")});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(policy.Judge(told[0].id, false, now_));
  EXPECT_FALSE(policy.Judge(told[0].id, false, now_)) << "once";
  EXPECT_FALSE(policy.Judge(4711, false, now_));
  EXPECT_DOUBLE_EQ(policy.state().raised.at("clock"), 1.25);
  EXPECT_FALSE(policy.state().raised.contains("power"));
  Run(policy, 8 * 1440, {});
  EXPECT_TRUE(Run(policy, 30, {Saw("clock", "n2", 1.15)}).empty());
  EXPECT_EQ(Run(policy, 30, {Saw("power", "n3", 1.15)}).size(), 1u);
  for (int week = 0; week < 30; ++week) {
    now_ += absl::Hours(7 * 24);
    policy.Step(now_, {});
  }
  EXPECT_EQ(Run(policy, 30, {Saw("clock", "n4", 1.15)}).size(), 1u);
}

TEST_F(PolicyTest, WhenTheBudgetIsSpentOnlyWhatIsBeyondDoubtIsTold) {
  Policy policy(rule_set_);
  const std::vector<Alarm> told = Run(policy, 30, {Saw("clock", "n1")});
  policy.Judge(told.at(0).id, false, now_);
  EXPECT_TRUE(Run(policy, 30, {Saw("power", "n2", 1.5)}).empty());
  EXPECT_EQ(policy.state().withheld, 1);
  EXPECT_EQ(Run(policy, 30, {Saw("power", "n3", 2.5)}).size(), 1u);
  // A week later it does not count any more, and a sign that is still present is reported.
  std::vector<Alarm> later = Run(policy, 8 * 1440, {Saw("power", "n2", 1.5)});
  EXPECT_EQ(later.size(), 1u);
}

// The sums of the detectors are capped, but not below the required level.
TEST_F(PolicyTest, HoweverOftenARuleWasWrongWhatIsBeyondDoubtIsTold) {
  for (const double most_raised : {1.0, 3.0, 10.0}) {
    RuleSet rule_set;
    ASSERT_TRUE(AddRules(absl::StrCat("rules:\n"
                                      "  - name: low\n"
                                      "    title: Lower than it should be\n"
                                      "    of: node\n"
                                      "    measure: m\n"
                                      "    bound: b\n"
                                      "    test: bound\n"
                                      "    slack: 0.1\n"
                                      "    limit: 5\n"
                                      "    source: s\n"
                                      "policy:\n"
                                      "  most_raised: ",
                                      most_raised, "\n"),
                         "a", rule_set)
                    .ok());
    Detectors detectors(rule_set, Of::kNode);
    PolicyState state;
    state.raised["low"] = 100;  // of a rule_set that allowed it
    state.false_alarms.push_back(now_);
    Policy policy(rule_set, state);
    const std::vector<std::int32_t> groups(1, 1);
    const std::vector<float> value(1, 0.01F);
    const std::vector<float> bound(1, 1.0F);
    std::size_t told = 0;
    for (int i = 0; i < 200; ++i) {
      now_ += absl::Minutes(1);
      Moment moment;
      moment.minute = absl::ToUnixSeconds(now_) / 60;
      moment.groups = groups;
      for (const std::string& measure : detectors.measures()) {
        moment.columns.emplace_back(measure == "m" ? value : bound);
      }
      std::vector<Notice> notices;
      for (const Sign& sign : detectors.Step(moment)) {
        notices.push_back(Saw("low", "n1", static_cast<double>(sign.score)));
      }
      told += policy.Step(now_, notices).size();
    }
    EXPECT_EQ(told, 1u) << most_raised;
  }
}

TEST_F(PolicyTest, WhoTakesTheStateOverTellsNothingTwice) {
  Policy first(rule_set_);
  Run(first, 1, {Saw("clock", "n1")});
  Policy second(rule_set_, first.state());
  EXPECT_EQ(Run(second, 30, {Saw("clock", "n1")}).size(), 1u) << "noticed by one, told by the next";
  Policy third(rule_set_, second.state());
  EXPECT_TRUE(Run(third, 30, {Saw("clock", "n1")}).empty());
}

TEST_F(PolicyTest, AFloodStaysBounded) {
  Policy policy(rule_set_);
  std::vector<Notice> notices;
  for (int i = 0; i < 5000; ++i) notices.push_back(Saw("r", absl::StrCat("n", i)));
  for (int i = 0; i < 500; ++i) notices.push_back(Saw(absl::StrCat("q", i), "n0"));
  Run(policy, 5, notices);
  EXPECT_LE(policy.state().alarms.size(), 1000u);
  for (const Alarm& alarm : policy.state().alarms) EXPECT_LE(alarm.notices.size(), 64u);
}

TEST_F(PolicyTest, AFloodOfLongNamesIsBoundedByItsBytesAndToldMinuteByMinute) {
  Policy policy(rule_set_);
  std::vector<Notice> notices;
  for (int i = 0; i < 600; ++i) {
    notices.push_back(Saw("r", absl::StrCat(i, std::string(4000, 'n'))));
  }
  Run(policy, 2, notices);
  std::size_t bytes = 0;
  for (const Alarm& alarm : policy.state().alarms) {
    EXPECT_FALSE(alarm.notices.empty());
    for (const Notice& notice : alarm.notices) bytes += notice.where.node.size();
  }
  EXPECT_LE(bytes, 2u << 20);
  EXPECT_GT(bytes, 1u << 20);
  const std::size_t all = policy.state().alarms.size();
  std::size_t told = 0;
  for (int minute = 0; minute < 40; ++minute) {
    const std::size_t now = Run(policy, 1, notices).size();
    EXPECT_LE(now, 16u);
    told += now;
  }
  EXPECT_EQ(told, all);
}

}  // namespace
}  // namespace galen::watch::detection
