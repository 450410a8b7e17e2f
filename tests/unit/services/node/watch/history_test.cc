#include "services/node/watch/history.h"

#include <gtest/gtest.h>

#include <vector>

#include "services/node/watch/counter_files.h"

namespace galen::node {
namespace {

absl::Time At(int second) { return absl::FromUnixSeconds(1'000'000 + second); }

void Add(History& history, int second, std::vector<std::uint64_t> values) {
  history.Add(At(second), values);
}

TEST(History, TheRiseWithinAWindowIsTheSumOfItsSteps) {
  History history(History::Options{});
  history.Resize(1);
  for (int i = 0; i < 10; ++i) Add(history, i, {static_cast<std::uint64_t>(i * i)});
  const auto change = history.Between(0, At(2), At(5));
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->first, 4u);
  EXPECT_EQ(change->last, 25u);
  EXPECT_EQ(change->rise, 21u);
  EXPECT_EQ(change->to - change->from, absl::Seconds(3));
}

TEST(History, AResetIsCountedAndTakesNothingAway) {
  History history(History::Options{});
  history.Resize(1);
  Add(history, 0, {10});
  Add(history, 1, {15});
  Add(history, 2, {2});
  Add(history, 3, {4});
  const auto change = history.Between(0, At(0), At(3));
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->rise, 7u);
  EXPECT_EQ(change->resets, 1);
}

TEST(History, WhatCouldNotBeReadIsPassedOver) {
  History history(History::Options{});
  history.Resize(1);
  Add(history, 0, {10});
  Add(history, 1, {kUnknownCount});
  Add(history, 2, {12});
  EXPECT_EQ(history.Between(0, At(0), At(2))->rise, 2u);
  EXPECT_FALSE(history.Between(0, At(1), At(2)).has_value());
}

TEST(History, NothingIsSaidOfAWindowWithoutTwoSamples) {
  History history(History::Options{});
  EXPECT_FALSE(history.Between(0, At(0), At(9)).has_value());
  history.Resize(1);
  Add(history, 0, {1});
  EXPECT_FALSE(history.Between(0, At(0), At(9)).has_value());
  EXPECT_FALSE(history.Between(7, At(0), At(9)).has_value());
}

TEST(History, LongWindowsAreToldByTheSecondRing) {
  History history({.bytes = 1 << 20, .most_samples = 30, .fewest_samples = 30, .every = 10});
  history.Resize(1);
  for (int i = 0; i < 200; ++i) Add(history, i, {static_cast<std::uint64_t>(i)});
  EXPECT_EQ(history.Between(0, At(180), At(199))->rise, 19u);
  const auto change = history.Between(0, At(0), At(199));
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->from, At(0));
  EXPECT_EQ(change->rise, 190u);
}

TEST(History, MoreCountersKeepWhatIsKnown) {
  History history({.bytes = 1 << 20, .most_samples = 20, .fewest_samples = 20, .every = 10});
  history.Resize(1);
  for (int i = 0; i < 50; ++i) Add(history, i, {static_cast<std::uint64_t>(i)});
  history.Resize(3);
  Add(history, 50, {50, 1, 2});
  Add(history, 51, {51, 3, 2});
  EXPECT_EQ(history.Between(0, At(40), At(51))->rise, 11u);
  EXPECT_EQ(history.Between(1, At(40), At(51))->rise, 2u);
}

TEST(History, ManyCountersGetFewerSamplesOfTheSameMemory) {
  History history({.bytes = 64 << 10, .most_samples = 900, .fewest_samples = 30, .every = 15});
  history.Resize(100);
  EXPECT_LE(history.bytes(), std::size_t{2 * (64 << 10) + 4096});
}

}  // namespace
}  // namespace galen::node
