#include "services/advisor/learning/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace galen::advisor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Each letter a run: lower case of a workload that went well, upper case one that failed.
DeviceHistory History(const std::string& runs) {
  DeviceHistory history;
  for (const char run : runs) {
    history.Add(static_cast<std::uint32_t>((run | 0x20) - 'a'), run < 'a');
  }
  return history;
}

std::string Repeat(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

struct Case {
  const char* title;
  std::string runs;
  FaultKind kind;
};

TEST(Faults, AreToldApartByHistory) {
  const Case cases[] = {
      {"nothing ran", "", FaultKind::kUnknown},
      {"too few runs to call it healthy", "ab", FaultKind::kUnknown},
      {"never failed", Repeat("abc", 20), FaultKind::kHealthy},
      {"failed once and then worked", "abcA" + Repeat("abc", 5), FaultKind::kTransient},
      {"failed once just now", Repeat("abc", 5) + "A", FaultKind::kUnknown},
      {"fails with everything", Repeat("aBAbCA", 8), FaultKind::kPersistent},
      {"fails with one workload alone", Repeat("abcCabCC", 12), FaultKind::kGray},
      {"failed in a row, was repaired, works since", Repeat("ABC", 4) + Repeat("abc", 30),
       FaultKind::kTransient},
  };
  for (const Case& each : cases) {
    const FaultVerdict verdict = TellFault(History(each.runs), 0.02);
    EXPECT_EQ(ToString(verdict.kind), ToString(each.kind)) << each.title << ": " << verdict.reason;
  }
}

TEST(Faults, GrayOnesNameTheWorkload) {
  const FaultVerdict verdict = TellFault(History(Repeat("abcCabCC", 12)), 0.02);
  EXPECT_THAT(verdict.workloads, ElementsAre(2u));
}

TEST(Faults, WorkloadsBeyondEightTakeNoMoreRoom) {
  DeviceHistory history;
  for (std::uint32_t i = 0; i < 10'000; ++i) history.Add(i, i % 100 == 0);
  EXPECT_LE(history.work().size(), DeviceHistory::kMost);
  EXPECT_EQ(history.runs(), 10'000);
  EXPECT_EQ(history.failures(), 100);
}

// Forgetting removes failures and runs alike from the counts.
TEST(Faults, ForgettingWorkloadsMakesNoneFailMoreOften) {
  DeviceHistory history;
  std::uint32_t other = 1;
  for (int i = 0; i < 2000; ++i) {
    history.Add(0, i % 10 == 0);
    // As many others that are seen once as make it forget nearly as much as it counts.
    for (int k = 0; k < 7; ++k) history.Add(other++, false);
  }
  const auto& work = history.work();
  const auto most =
      std::find_if(work.begin(), work.end(), [](const auto& each) { return each.workload == 0; });
  ASSERT_NE(most, work.end());
  EXPECT_GT(most->runs, 100u);
  EXPECT_LT(most->runs, 500u);
  EXPECT_NEAR(static_cast<double>(most->failures) / most->runs, 0.1, 0.05);
}

TEST(Lemons, AreTheNodesThatFailMoreThanTheFleet) {
  FleetHistory fleet;
  std::mt19937_64 random(11);
  for (int i = 0; i < 200'000; ++i) {
    const int node = static_cast<int>(random() % 500);
    const bool lemon = node < 5;
    fleet.Add(absl::StrCat("n", node), node % 3, random() % 4,
              random() % 1000 < (lemon ? 100u : 5u));
  }
  std::set<std::string> found;
  for (const FleetHistory::Lemon& lemon : fleet.Lemons()) {
    found.insert(lemon.node);
    EXPECT_EQ(lemon.verdict.kind, FaultKind::kPersistent) << lemon.verdict.reason;
  }
  EXPECT_THAT(found, ::testing::IsSupersetOf({"n0", "n1", "n2", "n3", "n4"}));
  EXPECT_LE(found.size(), 6u);
}

TEST(Lemons, ThereAreNoneWhereMachinesOfAContextAreEqual) {
  int with_any = 0;
  for (int seed = 0; seed < 40; ++seed) {
    FleetHistory fleet;
    std::mt19937_64 random(seed);
    for (int i = 0; i < 20'000; ++i) {
      const auto node = random() % 100;
      // One context is three times as bad as the other.
      const std::uint32_t context = node % 2;
      fleet.Add(absl::StrCat("n", node), context, random() % 4, random() % 600 < 3 + 6 * context);
    }
    with_any += fleet.Lemons().empty() ? 0 : 1;
  }
  EXPECT_LE(with_any, 4);
}

// Half of the machines had a driver with which one run in ten failed; then ten of them, and one
// that is itself bad, joined those with a rate of one in a hundred.
FleetHistory AfterAnUpgrade(int seed, bool with_lemon) {
  FleetHistory fleet;
  std::mt19937_64 random(seed);
  const auto run = [&](int node, std::uint32_t context, unsigned in_a_thousand) {
    fleet.Add(absl::StrCat("n", node), context, 0, random() % 1000 < in_a_thousand);
  };
  for (int round = 0; round < 120; ++round) {
    for (int node = 0; node < 50; ++node) run(node, 0, 100);
    for (int node = 50; node < 100; ++node) run(node, 1, 10);
    if (with_lemon) run(100, 0, 400);
  }
  for (int round = 0; round < 40; ++round) {
    for (int node = 0; node < 10; ++node) run(node, 1, 10);
    for (int node = 50; node < 100; ++node) run(node, 1, 10);
    if (with_lemon) run(100, 1, 250);
  }
  return fleet;
}

TEST(Lemons, AnUpgradeMakesNoLemonsOfTheMachinesThatHadTheWorseContextBefore) {
  int with_any = 0;
  for (int seed = 0; seed < 40; ++seed) {
    with_any += AfterAnUpgrade(seed, false).Lemons().empty() ? 0 : 1;
  }
  EXPECT_LE(with_any, 4);
  const FleetHistory fleet = AfterAnUpgrade(100, true);
  const std::vector<FleetHistory::Lemon> lemons = fleet.Lemons(0.001);
  ASSERT_EQ(lemons.size(), 1u);
  EXPECT_EQ(lemons[0].node, "n100");
  EXPECT_NEAR(fleet.RateBeside("n0"), (120 * 0.1 + 40 * 0.01) / 160, 0.01);
}

TEST(Lemons, AMachineTakesNoMoreRoomForAnyNumberOfContexts) {
  FleetHistory fleet;
  for (std::uint32_t context = 0; context < 10'000; ++context) {
    fleet.Add("a", context, 0, true);
    fleet.Add("b", context, 0, false);
  }
  // Each remembered context has two runs and one failure; without the machine's own run, the rate
  // is (0 + 0.5) / (1 + 1).
  EXPECT_NEAR(fleet.RateBeside("a"), 0.25, 0.01);
  EXPECT_THAT(fleet.Lemons(0.001), IsEmpty());
}

TEST(Lemons, NodesBeyondTheRoomAreCounted) {
  FleetHistory fleet(10);
  for (int i = 0; i < 100; ++i) fleet.Add(absl::StrCat("n", i), 0, 0, false);
  EXPECT_EQ(fleet.nodes(), 10u);
  EXPECT_EQ(fleet.left_out(), 90);
  EXPECT_THAT(fleet.Lemons(), IsEmpty());
}

}  // namespace
}  // namespace galen::advisor
