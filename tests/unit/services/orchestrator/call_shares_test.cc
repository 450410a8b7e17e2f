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

const absl::Time kNow = absl::UnixEpoch();

int BeginAll(CallShares& shares, const std::string& tenant) {
  int begun = 0;
  while (shares.TryBegin(tenant, kNow)) ++begun;
  return begun;
}

TEST(CallShares, ATenantAloneHasAllPlaces) {
  CallShares shares(4);
  shares.Arrive("a", kNow);
  shares.Arrive("a", kNow);
  EXPECT_EQ(BeginAll(shares, "a"), 4);
}

TEST(CallShares, TenantsShareEquallyBeTheyCallingOrNot) {
  CallShares shares(6);
  shares.Arrive("flood", kNow);
  shares.Arrive("quiet", kNow);
  EXPECT_EQ(BeginAll(shares, "flood"), 3);
  shares.Arrive("third", kNow);
  EXPECT_EQ(BeginAll(shares, "quiet"), 2);
  EXPECT_EQ(BeginAll(shares, "third"), 1) << "the flood has one more than its share yet";
  shares.Ended("flood");
  EXPECT_EQ(BeginAll(shares, "flood"), 0);
  EXPECT_EQ(BeginAll(shares, "third"), 1);
}

TEST(CallShares, WhatATenantHasTooMuchOfIsNotGivenToItAgain) {
  CallShares shares(4);
  shares.Arrive("flood", kNow);
  EXPECT_EQ(BeginAll(shares, "flood"), 4);
  shares.Wait("flood", 1);
  shares.Arrive("quiet", kNow);
  EXPECT_FALSE(shares.TryBegin("quiet", kNow));
  shares.Wait("quiet", 2);
  shares.Ended("flood");
  EXPECT_THAT(shares.Next(kNow), Optional(2));
  shares.Ended("flood");
  EXPECT_THAT(shares.Next(kNow), Eq(std::nullopt)) << "kept for the quiet one";
  EXPECT_TRUE(shares.TryBegin("quiet", kNow));
  shares.Ended("flood");
  EXPECT_THAT(shares.Next(kNow), Optional(1));
}

TEST(CallShares, WhoLeavesLeavesItsShareToTheOthers) {
  CallShares shares(2);
  shares.Arrive("a", kNow);
  shares.Arrive("b", kNow);
  EXPECT_EQ(BeginAll(shares, "a"), 1);
  shares.Wait("a", 1);
  EXPECT_THAT(shares.Next(kNow), Eq(std::nullopt));
  shares.Leave("b", kNow);
  EXPECT_THAT(shares.Next(kNow), Optional(1));
}

TEST(CallShares, MoreTenantsThanPlacesTakeTurns) {
  CallShares shares(1);
  for (const char* tenant : {"a", "b", "c"}) shares.Arrive(tenant, kNow);
  EXPECT_TRUE(shares.TryBegin("a", kNow));
  CallShares::Waiter waiter = 0;
  for (const char* tenant : {"a", "a", "b", "b", "c"}) shares.Wait(tenant, ++waiter);
  std::vector<CallShares::Waiter> order;
  for (const char* had = "a"; had != nullptr;) {
    shares.Ended(had);
    const std::optional<CallShares::Waiter> next = shares.Next(kNow);
    if (next.has_value()) order.push_back(*next);
    had = !next.has_value() ? nullptr : *next <= 2 ? "a" : *next <= 4 ? "b" : "c";
  }
  EXPECT_THAT(order, ElementsAre(1, 3, 5, 2, 4));
}

class Crowd {
 public:
  // One tenant that has many diagnoses running.
  Crowd() {
    for (int i = 0; i < 20; ++i) shares.Arrive("flood", kNow);
  }
  CallShares shares{8};
};

TEST(CallShares, ATenantThatComesWithItsOnlyDiagnosisGoesBeforeOneThatHasMany) {
  Crowd crowd;
  EXPECT_EQ(crowd.shares.Arrive("quiet", kNow), absl::Milliseconds(250));
  EXPECT_EQ(BeginAll(crowd.shares, "flood"), 0);
  crowd.shares.Wait("flood", 1);
  EXPECT_THAT(crowd.shares.Next(kNow), Eq(std::nullopt));
  EXPECT_EQ(BeginAll(crowd.shares, "quiet"), 4);
  crowd.shares.Leave("quiet", kNow + absl::Milliseconds(40));
  EXPECT_THAT(crowd.shares.Next(kNow + absl::Milliseconds(40)), Optional(1));
}

TEST(CallShares, WhoStaysHoldsTheOthersForAWhileOnly) {
  Crowd crowd;
  crowd.shares.Wait("flood", 1);
  const absl::Duration held = crowd.shares.Arrive("quiet", kNow);
  EXPECT_THAT(crowd.shares.Next(kNow + held - absl::Milliseconds(1)), Eq(std::nullopt));
  EXPECT_THAT(crowd.shares.Next(kNow + held), Optional(1));
  EXPECT_EQ(BeginAll(crowd.shares, "quiet"), 4) << "shares are equal then";
}

TEST(CallShares, WhoComesAgainAndAgainHoldsTheOthersAFifthOfTheTime) {
  Crowd crowd;
  absl::Duration held;
  absl::Time now = kNow;
  for (; now < kNow + absl::Seconds(100); now += absl::Milliseconds(1)) {
    crowd.shares.Arrive("quiet", now);
    crowd.shares.Wait("flood", 1);
    if (const auto next = crowd.shares.Next(now + absl::Microseconds(999)); next.has_value()) {
      crowd.shares.Ended("flood");
    } else {
      held += absl::Milliseconds(1);
    }
    crowd.shares.Leave("quiet", now + absl::Milliseconds(1));
  }
  EXPECT_GT(held, absl::Seconds(15));
  EXPECT_LT(held, absl::Seconds(25));
}

TEST(CallShares, TenantsThatHaveAboutAsManyHoldNobody) {
  CallShares shares(8);
  for (int i = 0; i < 3; ++i) shares.Arrive("a", kNow);
  EXPECT_EQ(shares.Arrive("b", kNow), absl::ZeroDuration());
  EXPECT_EQ(BeginAll(shares, "a"), 4);
}

TEST(Turnstile, WhoIsHeldGoesOnByItselfWhenThatIsOver) {
  absl::Time now = kNow;
  Timers timers([&now] { return now; });
  Turnstile turnstile(8, timers);
  std::vector<Turnstile::Presence> flood;
  for (int i = 0; i < 20; ++i) flood.push_back(turnstile.Arrive("flood"));
  const Turnstile::Presence quiet = turnstile.Arrive("quiet");
  bool given = false;
  turnstile.Wait("flood", [&](Turnstile::Place) { given = true; });
  EXPECT_FALSE(given);
  now += absl::Seconds(1);
  timers.RunDue();
  EXPECT_TRUE(given);
}

TEST(Turnstile, GivesAPlaceToTheNextOneWhenItGoesAway) {
  Timers timers;
  Turnstile turnstile(1, timers);
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
  Timers timers;
  Turnstile turnstile(1, timers);
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
  Timers timers;
  std::optional<Turnstile> turnstile;
  turnstile.emplace(1, timers);
  std::optional<Turnstile::Place> place = turnstile->TryBegin("a");
  turnstile.reset();
  place.reset();
}

}  // namespace
}  // namespace galen::orchestrator
