#include "services/orchestrator/call_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "services/orchestrator/turnstile.h"

namespace galen::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Optional;

int BeginAll(CallShares& shares, const std::string& tenant) {
  int begun = 0;
  while (shares.TryBegin(tenant)) ++begun;
  return begun;
}

TEST(CallShares, ATenantAloneHasAllPlaces) {
  CallShares shares(4);
  shares.Arrive("a");
  shares.Arrive("a");
  EXPECT_EQ(BeginAll(shares, "a"), 4);
}

TEST(CallShares, TenantsShareEquallyBeTheyCallingOrNot) {
  CallShares shares(6);
  shares.Arrive("flood");
  shares.Arrive("quiet");
  EXPECT_EQ(BeginAll(shares, "flood"), 3);
  shares.Arrive("third");
  EXPECT_EQ(BeginAll(shares, "quiet"), 2);
  EXPECT_EQ(BeginAll(shares, "third"), 1) << "the flood has one more than its share yet";
  shares.Ended("flood");
  EXPECT_EQ(BeginAll(shares, "flood"), 0);
  EXPECT_EQ(BeginAll(shares, "third"), 1);
}

TEST(CallShares, WhatATenantHasTooMuchOfIsNotGivenToItAgain) {
  CallShares shares(4);
  shares.Arrive("flood");
  EXPECT_EQ(BeginAll(shares, "flood"), 4);
  shares.Wait("flood", 1);
  shares.Arrive("quiet");
  EXPECT_FALSE(shares.TryBegin("quiet"));
  shares.Wait("quiet", 2);
  shares.Ended("flood");
  EXPECT_THAT(shares.Next(), Optional(2));
  shares.Ended("flood");
  EXPECT_THAT(shares.Next(), Eq(std::nullopt)) << "kept for the quiet one";
  EXPECT_TRUE(shares.TryBegin("quiet"));
  shares.Ended("flood");
  EXPECT_THAT(shares.Next(), Optional(1));
}

TEST(CallShares, WhoLeavesLeavesItsShareToTheOthers) {
  CallShares shares(2);
  shares.Arrive("a");
  shares.Arrive("b");
  EXPECT_EQ(BeginAll(shares, "a"), 1);
  shares.Wait("a", 1);
  EXPECT_THAT(shares.Next(), Eq(std::nullopt));
  shares.Leave("b");
  EXPECT_THAT(shares.Next(), Optional(1));
}

TEST(CallShares, MoreTenantsThanPlacesTakeTurns) {
  CallShares shares(1);
  for (const char* tenant : {"a", "b", "c"}) shares.Arrive(tenant);
  EXPECT_TRUE(shares.TryBegin("a"));
  CallShares::Waiter waiter = 0;
  for (const char* tenant : {"a", "a", "b", "b", "c"}) shares.Wait(tenant, ++waiter);
  std::vector<CallShares::Waiter> order;
  for (const char* had = "a"; had != nullptr;) {
    shares.Ended(had);
    const std::optional<CallShares::Waiter> next = shares.Next();
    if (next.has_value()) order.push_back(*next);
    had = !next.has_value() ? nullptr : *next <= 2 ? "a" : *next <= 4 ? "b" : "c";
  }
  EXPECT_THAT(order, ElementsAre(1, 3, 5, 2, 4));
}

TEST(Turnstile, GivesAPlaceToTheNextOneWhenItGoesAway) {
  Turnstile turnstile(1);
  const Turnstile::Presence presence = turnstile.Arrive("a");
  std::optional<Turnstile::Place> place = turnstile.TryBegin("a");
  ASSERT_TRUE(place.has_value());
  EXPECT_FALSE(turnstile.TryBegin("a").has_value());
  std::vector<Turnstile::Place> given;
  turnstile.Wait("a", [&](Turnstile::Place next) { given.push_back(std::move(next)); });
  EXPECT_EQ(given.size(), 0u);
  place.reset();
  EXPECT_EQ(given.size(), 1u);
  given.clear();
  EXPECT_TRUE(turnstile.TryBegin("a").has_value());
}

TEST(Turnstile, ThousandsWhoHaveGoneMeanwhileAreSkippedAndNoPlaceIsLost) {
  Turnstile turnstile(1);
  const Turnstile::Presence presence = turnstile.Arrive("a");
  std::optional<Turnstile::Place> place = turnstile.TryBegin("a");
  for (int i = 0; i < 200'000; ++i) turnstile.Wait("a", [](Turnstile::Place) {});
  bool given = false;
  turnstile.Wait("a", [&](Turnstile::Place) { given = true; });
  place.reset();
  EXPECT_TRUE(given);
  EXPECT_TRUE(turnstile.TryBegin("a").has_value());
}

TEST(Turnstile, MayGoBeforeItsPlaces) {
  std::optional<Turnstile> turnstile(1);
  std::optional<Turnstile::Place> place = turnstile->TryBegin("a");
  turnstile.reset();
  place.reset();
}

}  // namespace
}  // namespace galen::orchestrator
