#include "services/execution/pair_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace galen::execution {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Verdict = PairSchedule::Verdict;

std::vector<std::string> Names(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(absl::StrCat("n", 1000 + i));
  return names;
}

// Runs the plan on nodes where those in `bad` fail every test. False if a round uses a node twice
// or repeats a pair.
bool RunPlan(PairSchedule& rounds, const std::set<std::string>& bad) {
  std::set<std::pair<std::string, std::string>> seen;
  while (true) {
    const std::vector<PairSchedule::Pair> pairs = rounds.Next();
    if (pairs.empty()) return true;
    std::set<std::string> used;
    for (const PairSchedule::Pair& pair : pairs) {
      if (!used.insert(pair.a).second || !used.insert(pair.b).second) return false;
      if (!seen.insert(std::minmax(pair.a, pair.b)).second) return false;
      rounds.Tell(pair, bad.count(pair.a) + bad.count(pair.b) == 0);
    }
  }
}

TEST(PairSchedule, OneRoundIsEnoughForAnEvenNumberOfSoundNodes) {
  PairSchedule rounds(Names(24));
  ASSERT_TRUE(RunPlan(rounds, {}));
  EXPECT_EQ(rounds.rounds(), 1u);
  EXPECT_EQ(rounds.Nodes(Verdict::kClear).size(), 24u);
}

TEST(PairSchedule, TheOddNodeIsTestedToo) {
  PairSchedule rounds(Names(5));
  ASSERT_TRUE(RunPlan(rounds, {}));
  EXPECT_EQ(rounds.rounds(), 2u);
  EXPECT_EQ(rounds.Nodes(Verdict::kClear).size(), 5u);
}

TEST(PairSchedule, OneBadNodeIsToldFromItsPartnerInTwoRounds) {
  for (const std::size_t count : {4u, 7u, 24u, 1000u}) {
    PairSchedule rounds(Names(count));
    ASSERT_TRUE(RunPlan(rounds, {"n1003"}));
    EXPECT_THAT(rounds.Nodes(Verdict::kBad), ElementsAre("n1003")) << count;
    EXPECT_THAT(rounds.Nodes(Verdict::kUndecided), IsEmpty()) << count;
    EXPECT_EQ(rounds.rounds(), 2u) << count;
  }
}

TEST(PairSchedule, OfTwoNodesThatFailTogetherNeitherIsCalledBad) {
  PairSchedule rounds(Names(2));
  ASSERT_TRUE(RunPlan(rounds, {"n1000"}));
  EXPECT_THAT(rounds.Nodes(Verdict::kBad), IsEmpty());
  EXPECT_EQ(rounds.Nodes(Verdict::kUndecided).size(), 2u);
}

TEST(PairSchedule, WhenEveryPairFailsNobodyIsAccused) {
  PairSchedule rounds(Names(8));
  const std::vector<std::string> all = Names(8);
  ASSERT_TRUE(RunPlan(rounds, {all.begin(), all.end()}));
  EXPECT_THAT(rounds.Nodes(Verdict::kBad), IsEmpty());
}

TEST(PairSchedule, NobodyAndOneNodeHaveNoPairs) {
  EXPECT_THAT(PairSchedule({}).Next(), IsEmpty());
  EXPECT_THAT(PairSchedule(Names(1)).Next(), IsEmpty());
}

TEST(PairSchedule, EveryNodeIsToldInLogarithmicallyManyRoundsWithAQuarterOfThemBad) {
  std::mt19937 random(7);
  for (const std::size_t count : {8u, 33u, 128u, 500u}) {
    for (int trial = 0; trial < 20; ++trial) {
      std::vector<std::string> names = Names(count);
      std::shuffle(names.begin(), names.end(), random);
      const std::set<std::string> bad(names.begin(),
                                      names.begin() + static_cast<std::ptrdiff_t>(count / 4));
      PairSchedule rounds(Names(count));
      ASSERT_TRUE(RunPlan(rounds, bad));
      EXPECT_THAT(rounds.Nodes(Verdict::kUndecided), IsEmpty());
      EXPECT_EQ(rounds.Nodes(Verdict::kBad).size(), bad.size());
      EXPECT_LE(static_cast<double>(rounds.rounds()),
                2 + std::ceil(std::log2(static_cast<double>(count))));
    }
  }
}

TEST(PairSchedule, ASoundNodeIsNeverCalledBadHoweverManyAre) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t count = 2 + random() % 40;
    std::set<std::string> bad;
    for (const std::string& name : Names(count)) {
      if (random() % 4 != 0) bad.insert(name);
    }
    PairSchedule rounds(Names(count));
    ASSERT_TRUE(RunPlan(rounds, bad));
    for (const std::string& name : rounds.Nodes(Verdict::kBad)) EXPECT_TRUE(bad.contains(name));
    for (const std::string& name : rounds.Nodes(Verdict::kClear)) EXPECT_FALSE(bad.contains(name));
  }
}

}  // namespace
}  // namespace galen::execution
