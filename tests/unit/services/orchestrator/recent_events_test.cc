#include "services/orchestrator/recent_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

std::vector<v1::DiagnosisEvent> Events(std::int64_t first, std::int64_t last) {
  std::vector<v1::DiagnosisEvent> events;
  for (std::int64_t sequence = first; sequence <= last; ++sequence) {
    events.emplace_back().set_sequence(sequence);
  }
  return events;
}

std::optional<std::vector<std::int64_t>> After(RecentEvents& recent, absl::string_view name,
                                               std::int64_t after, std::size_t limit = 100) {
  const std::optional<std::vector<v1::DiagnosisEvent>> events = recent.After(name, after, limit);
  if (!events.has_value()) return std::nullopt;
  std::vector<std::int64_t> sequences;
  for (const v1::DiagnosisEvent& event : *events) sequences.push_back(event.sequence());
  return sequences;
}

TEST(RecentEvents, GivesWhatFollowsAsOftenAsItIsAskedFor) {
  RecentEvents recent(1000);
  recent.Add("a", Events(3, 4));
  recent.Add("a", Events(5, 5));
  EXPECT_THAT(After(recent, "a", 2), Optional(ElementsAre(3, 4, 5)));
  EXPECT_THAT(After(recent, "a", 4), Optional(ElementsAre(5)));
  EXPECT_THAT(After(recent, "a", 2, 2), Optional(ElementsAre(3, 4)));
  EXPECT_THAT(After(recent, "a", 5), Optional(IsEmpty()));
}

TEST(RecentEvents, KnowsNothingOfWhatCameBeforeNorOfWhatIsBeyond) {
  RecentEvents recent(1000);
  recent.Add("a", Events(3, 5));
  EXPECT_EQ(After(recent, "a", 1), std::nullopt);
  EXPECT_EQ(After(recent, "a", 6), std::nullopt);
  EXPECT_EQ(After(recent, "b", 0), std::nullopt);
}

TEST(RecentEvents, AGapLeavesOnlyWhatCameAfterIt) {
  RecentEvents recent(1000);
  recent.Add("a", Events(1, 2));
  recent.Add("a", Events(4, 4));
  EXPECT_EQ(After(recent, "a", 1), std::nullopt);
  EXPECT_THAT(After(recent, "a", 3), Optional(ElementsAre(4)));
}

TEST(RecentEvents, ALogThatWentOnElsewhereIsNotKnownAnyMore) {
  RecentEvents recent(1000);
  recent.Add("a", Events(1, 2));
  recent.EndsWith("a", 2);
  EXPECT_THAT(After(recent, "a", 2), Optional(IsEmpty()));
  recent.EndsWith("a", 5);
  EXPECT_EQ(After(recent, "a", 2), std::nullopt);
}

TEST(RecentEvents, WhatNothingWasAddedToForLongestGoesFirst) {
  const std::size_t one = Events(1, 1)[0].ByteSizeLong();
  RecentEvents recent(3 * one);
  recent.Add("a", Events(1, 1));
  recent.Add("b", Events(1, 1));
  recent.Add("a", Events(2, 2));
  recent.Add("c", Events(1, 1));
  EXPECT_EQ(After(recent, "b", 0), std::nullopt);
  EXPECT_THAT(After(recent, "a", 0), Optional(ElementsAre(1, 2)));
  EXPECT_THAT(After(recent, "c", 0), Optional(ElementsAre(1)));
}

TEST(RecentEvents, WhatIsLargerThanAllThereIsRoomForIsNotKept) {
  RecentEvents recent(Events(1, 1)[0].ByteSizeLong());
  recent.Add("a", Events(1, 1));
  recent.Add("a", Events(2, 3));
  EXPECT_EQ(After(recent, "a", 0), std::nullopt);
}

}  // namespace
}  // namespace galen::orchestrator
