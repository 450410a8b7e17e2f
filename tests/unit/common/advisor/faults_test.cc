#include "common/advisor/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

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

TEST(Lemons, NodesBeyondTheRoomAreCounted) {
  FleetHistory fleet(10);
  for (int i = 0; i < 100; ++i) fleet.Add(absl::StrCat("n", i), 0, 0, false);
  EXPECT_EQ(fleet.nodes(), 10u);
  EXPECT_EQ(fleet.left_out(), 90);
  EXPECT_THAT(fleet.Lemons(), IsEmpty());
}

}  // namespace
}  // namespace galen::advisor
