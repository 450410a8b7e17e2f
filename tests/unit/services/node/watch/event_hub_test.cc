#include "services/node/watch/event_hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace galen::node {
namespace {

galen::v1::Finding Named(const char* name) {
  galen::v1::Finding finding;
  finding.set_name(name);
  return finding;
}

struct Ear {
  std::vector<v1::WatchEvent> heard;
  bool room = true;
  std::optional<absl::Status> ended;
  EventHub::Push push() {
    return [this](const v1::WatchEvent& event) {
      if (room) heard.push_back(event);
      return room;
    };
  }
  EventHub::End end() {
    return [this](const absl::Status& status) { ended = status; };
  }
};

TEST(EventHub, EveryListenerHearsAnEventWithItsNumberAndTime) {
  const SystemClock clock;
  EventHub hub(clock);
  Ear a;
  Ear b;
  ASSERT_TRUE(hub.Listen(a.push(), a.end()).ok());
  ASSERT_TRUE(hub.Listen(b.push(), b.end()).ok());
  hub.Publish("system.kernel_log", Named("xid"));
  ASSERT_EQ(a.heard.size(), 1u);
  ASSERT_EQ(b.heard.size(), 1u);
  EXPECT_EQ(a.heard[0].check(), "system.kernel_log");
  EXPECT_EQ(a.heard[0].sequence(), 1);
  EXPECT_EQ(a.heard[0].lost(), 0);
  EXPECT_GT(a.heard[0].noticed_at().seconds(), 0);
}

TEST(EventHub, WhatAListenerHadNoRoomForIsCounted) {
  const SystemClock clock;
  EventHub hub(clock);
  Ear ear;
  ASSERT_TRUE(hub.Listen(ear.push(), ear.end()).ok());
  ear.room = false;
  hub.Publish("c", Named("a"));
  hub.Publish("c", Named("b"));
  ear.room = true;
  hub.Lost(3);
  hub.Publish("c", Named("c"));
  hub.Publish("c", Named("d"));
  ASSERT_EQ(ear.heard.size(), 2u);
  EXPECT_EQ(ear.heard[0].lost(), 5);
  EXPECT_EQ(ear.heard[1].lost(), 0);
}

TEST(EventHub, OneWhoComesLateLearnsHowMuchThereWas) {
  const SystemClock clock;
  EventHub hub(clock);
  hub.Publish("c", Named("a"));
  Ear ear;
  ASSERT_TRUE(hub.Listen(ear.push(), ear.end()).ok());
  hub.Publish("c", Named("b"));
  ASSERT_EQ(ear.heard.size(), 1u);
  EXPECT_EQ(ear.heard[0].lost(), 1);
}

TEST(EventHub, OneWhoLeftHearsNothing) {
  const SystemClock clock;
  EventHub hub(clock);
  Ear ear;
  const auto listener = hub.Listen(ear.push(), ear.end());
  ASSERT_TRUE(listener.ok());
  hub.Leave(*listener);
  hub.Leave(*listener);
  hub.Publish("c", Named("a"));
  EXPECT_TRUE(ear.heard.empty());
  hub.Close();
  EXPECT_FALSE(ear.ended.has_value());
}

TEST(EventHub, ClosingEndsListenersAndRefusesNewOnes) {
  const SystemClock clock;
  EventHub hub(clock);
  Ear ear;
  ASSERT_TRUE(hub.Listen(ear.push(), ear.end()).ok());
  hub.Close();
  ASSERT_TRUE(ear.ended.has_value());
  EXPECT_EQ(ear.ended->code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(hub.Listen(ear.push(), ear.end()).status().code(), absl::StatusCode::kUnavailable);
}

TEST(EventHub, ThereAreNoMoreListenersThanAllowed) {
  const SystemClock clock;
  EventHub hub(clock);
  Ear ear;
  for (std::size_t i = 0; i < EventHub::kMaxListeners; ++i) {
    ASSERT_TRUE(hub.Listen(ear.push(), ear.end()).ok());
  }
  EXPECT_EQ(hub.Listen(ear.push(), ear.end()).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace galen::node
