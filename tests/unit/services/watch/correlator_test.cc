#include "services/watch/correlator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace galen::watch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);
constexpr char kXid79[] = "system.kernel_log xid 79";

absl::Time At(int milliseconds) { return kStart + absl::Milliseconds(milliseconds); }

class CorrelatorTest : public ::testing::Test {
 protected:
  void Add(const std::string& node, int at, const std::string& kind = kXid79) {
    v1::HealthEvent event;
    event.set_node(node);
    correlator_.Add(kind, event, ++position_, 0, At(at));
  }
  static std::vector<std::string> Told(const std::vector<Outbreak>& due) {
    std::vector<std::string> told;
    for (const Outbreak& outbreak : due) {
      std::string text = absl::StrCat(outbreak.kind, " from ", outbreak.begin, ":");
      for (const v1::HealthEvent& event : outbreak.events)
        absl::StrAppend(&text, " ", event.node());
      told.push_back(text);
    }
    return told;
  }
  std::vector<std::string> DueAt(int at) { return Told(correlator_.Due(At(at))); }

  Correlator correlator_{Correlator::Options{.most_machines = 4}};
  std::int64_t position_ = 0;
};

TEST_F(CorrelatorTest, WhatBefallsManyAtOnceIsOneOutbreakOnceItIsQuiet) {
  Add("a", 0);
  Add("b", 100);
  Add("c", 250);
  EXPECT_EQ(correlator_.NextDue(), At(450));
  EXPECT_THAT(DueAt(449), IsEmpty());
  EXPECT_THAT(DueAt(450), ElementsAre("system.kernel_log xid 79 from 1: a b c"));
  EXPECT_EQ(correlator_.NextDue(), absl::InfiniteFuture());
}

TEST_F(CorrelatorTest, ItIsToldWhileMachinesGoOnComingAndTheLateOnesAreTheNext) {
  Add("a", 0);
  Add("b", 190);
  Add("c", 380);
  Add("d", 570);
  EXPECT_THAT(DueAt(699), IsEmpty());
  EXPECT_THAT(DueAt(700), ElementsAre("system.kernel_log xid 79 from 1: a b c d"));
  Add("e", 710);
  EXPECT_THAT(DueAt(910), ElementsAre("system.kernel_log xid 79 from 5: e"));
}

TEST_F(CorrelatorTest, KindsAreApartAndOldestFirst) {
  Add("a", 0, "z");
  Add("a", 1, "y");
  Add("b", 2, "z");
  EXPECT_THAT(DueAt(1000), ElementsAre("z from 1: a b", "y from 2: a"));
}

TEST_F(CorrelatorTest, AMachineIsNamedOnceAndNotToldOfAgainForAWhile) {
  Add("a", 0);
  Add("a", 10);
  EXPECT_THAT(DueAt(300), ElementsAre("system.kernel_log xid 79 from 1: a"));
  Add("a", 400);
  EXPECT_THAT(DueAt(1000), IsEmpty());
  const int later = 300 + 10 * 60 * 1000;
  Add("a", later);
  EXPECT_THAT(DueAt(later + 200), ElementsAre("system.kernel_log xid 79 from 4: a"));
}

TEST_F(CorrelatorTest, MoreMachinesThanAnIncidentTakesAreToldOfAtOnceInParts) {
  for (const char* node : {"a", "b", "c", "d", "e", "f"}) Add(node, 0);
  EXPECT_EQ(correlator_.NextDue(), absl::InfinitePast());
  const std::vector<Outbreak> due = correlator_.Due(At(0));
  EXPECT_THAT(Told(due), ElementsAre("system.kernel_log xid 79 from 1: a b c d",
                                     "system.kernel_log xid 79 from 1: e f"));
  EXPECT_EQ(due[0].part, 0);
  EXPECT_EQ(due[1].part, 1);
}

TEST_F(CorrelatorTest, WhoStartsAnewMeetsWhatWasNotToldAndDoesNotRepeatWhatWas) {
  Add("a", 0, "told");
  EXPECT_THAT(DueAt(200), ElementsAre("told from 1: a"));
  Add("b", 300, "open");
  Add("a", 310, "told");
  const v1::Progress progress = correlator_.Save(3);
  EXPECT_EQ(progress.position(), 1);

  Correlator next{Correlator::Options()};
  next.Restore(progress);
  v1::HealthEvent event;
  event.set_node("b");
  next.Add("open", event, 2, 0, At(300));
  event.set_node("a");
  next.Add("told", event, 3, 0, At(310));
  EXPECT_THAT(Told(next.Due(At(1000))), ElementsAre("open from 2: b"));
}

TEST_F(CorrelatorTest, RemembersABoundedNumberTheNewestOnes) {
  Correlator small{Correlator::Options{.most_remembered = 2}};
  v1::HealthEvent event;
  for (int i = 0; i < 5; ++i) {
    event.set_node(absl::StrCat(i));
    small.Add("k", event, i + 1, 0, At(1000 * i));
    EXPECT_EQ(small.Due(At(1000 * i + 200)).size(), 1u);
  }
  EXPECT_EQ(small.Save(5).told_size(), 2);
  EXPECT_EQ(small.Save(5).told(0).node(), "3");
}

}  // namespace
}  // namespace galen::watch
