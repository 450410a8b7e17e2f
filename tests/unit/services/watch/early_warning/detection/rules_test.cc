// Claims about the knowledge of early warning.
#include "services/watch/early_warning/detection/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace galen::watch::detection {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;

std::string RuleWith(const std::string& more) {
  return absl::StrCat(
      "rules:\n  - name: r\n    title: t\n    of: gpu\n    measure: gpu_power\n    source: s\n",
      more);
}

TEST(WarningRules, ThoseThatShipAreReadAndEachHasASource) {
  const auto rule_set = LoadRules({absl::StrCat(GALEN_SOURCE_DIR, "/knowledge")});
  ASSERT_THAT(rule_set, IsOk());
  EXPECT_GE(rule_set->rules.size(), 10u);
  for (const Rule& rule : rule_set->rules) EXPECT_FALSE(rule.source.empty()) << rule.name;
  EXPECT_NE(rule_set->Find("power_below_work"), nullptr);
  EXPECT_GT(rule_set->policy.budget_per_week, 0);
}

TEST(WarningRules, WhatIsWrongIsToldWithItsLine) {
  struct Case {
    const char* more;
    const char* what;
  };
  const Case cases[] = {
      {"    test: guess\n", "rules.yaml:7: test: is peers"},
      {"    test: peers\n    slack: 0.1\n", "needs a limit"},
      {"    test: peers\n    slack: -1\n    limit: 5\n", "slack: write a number"},
      {"    test: peers\n    slack: nan\n    limit: 5\n", "slack: write a number"},
      {"    test: bound\n    slack: 0.1\n    limit: 5\n", "needs bound"},
      {"    test: growth\n    slack: 2\n    cap: 1\n    limit: 5\n", "cap of more than the slack"},
      {"    test: peers\n    slack: 1\n    limit: 5\n    colour: red\n", "colour: unknown"},
      {"    test: peers\n    slack: 1\n    limit: 5\n    given: {a: x}\n", "a: write a number"},
  };
  for (const Case& each : cases) {
    RuleSet rule_set;
    EXPECT_THAT(AddRules(RuleWith(each.more), "rules.yaml", rule_set),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(each.what)));
  }
}

TEST(WarningRules, WhatIsNoListIsToldAndNotTakenForAnEmptyOne) {
  const std::pair<const char*, const char*> cases[] = {
      {"silences:\n  from: '2026-02-14T08:00:00Z'\n  until: '2026-02-14T10:00:00Z'\n"
       "  reason: x\n",
       "silences: is not a list"},
      {"silences: all\n", "a:1: silences: is not a list"},
      {"rules:\n  name: r\n", "rules: is not a list"},
  };
  for (const auto& [text, what] : cases) {
    RuleSet rule_set;
    EXPECT_THAT(AddRules(text, "a", rule_set),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  }
  RuleSet rule_set;
  EXPECT_THAT(AddRules("rules:\nsilences: []\n", "a", rule_set), IsOk());
}

TEST(WarningRules, LimitsAreNotRaisedOutOfReach) {
  RuleSet rule_set;
  EXPECT_THAT(AddRules("policy:\n  most_raised: 10\n", "a", rule_set), IsOk());
  EXPECT_THAT(AddRules("policy:\n  most_raised: 11\n", "a", rule_set),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("most_raised: write a")));
}

TEST(WarningRules, WhatIsPlannedStandsWithItsReason) {
  RuleSet rule_set;
  const char kSilence[] =
      "silences:\n  - {from: '2026-02-14T08:00:00Z', until: '2026-02-14T10:00:00Z', node: n1, "
      "reason: firmware}\n";
  ASSERT_THAT(AddRules(kSilence, "a", rule_set), IsOk());
  ASSERT_EQ(rule_set.silences.size(), 1u);
  const absl::Time begin = rule_set.silences[0].from;
  EXPECT_TRUE(rule_set.silences[0].Covers("n1", "j", begin));
  EXPECT_FALSE(rule_set.silences[0].Covers("n2", "j", begin));
  EXPECT_FALSE(rule_set.silences[0].Covers("n1", "j", begin + absl::Hours(2)));
  EXPECT_THAT(AddRules("silences:\n  - {from: now, until: then, reason: x}\n", "a", rule_set),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a:2: from:")));
}

TEST(WarningRules, ASitesRuleTakesThePlaceOfTheOneOfItsName) {
  RuleSet rule_set;
  ASSERT_THAT(AddRules(RuleWith("    test: peers\n    slack: 0.1\n    limit: 5\n"), "a", rule_set),
              IsOk());
  ASSERT_THAT(AddRules(RuleWith("    test: peers\n    slack: 0.1\n    limit: 9\n"), "b", rule_set),
              IsOk());
  ASSERT_EQ(rule_set.rules.size(), 1u);
  EXPECT_EQ(rule_set.rules[0].limit, 9);
}

}  // namespace
}  // namespace galen::watch::detection
