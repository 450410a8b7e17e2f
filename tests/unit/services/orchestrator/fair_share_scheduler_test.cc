#include "services/orchestrator/fair_share_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "services/orchestrator/fair_call_limiter.h"

namespace galen::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Optional;

const absl::Time kNow = absl::UnixEpoch();

int BeginAll(FairShareScheduler& scheduler, const std::string& tenant) {
  int begun = 0;
  while (scheduler.TryAcquire(tenant, kNow)) ++begun;
  return begun;
}

TEST(FairShareScheduler, ATenantAloneHasAllPlaces) {
  FairShareScheduler scheduler(4);
  scheduler.Register("a", kNow);
  scheduler.Register("a", kNow);
  EXPECT_EQ(BeginAll(scheduler, "a"), 4);
}

TEST(FairShareScheduler, TenantsShareEquallyBeTheyCallingOrNot) {
  FairShareScheduler scheduler(6);
  scheduler.Register("flood", kNow);
  scheduler.Register("quiet", kNow);
  EXPECT_EQ(BeginAll(scheduler, "flood"), 3);
  scheduler.Register("third", kNow);
  EXPECT_EQ(BeginAll(scheduler, "quiet"), 2);
  EXPECT_EQ(BeginAll(scheduler, "third"), 1) << "the flood has one more than its share yet";
  scheduler.Release("flood");
  EXPECT_EQ(BeginAll(scheduler, "flood"), 0);
  EXPECT_EQ(BeginAll(scheduler, "third"), 1);
}

TEST(FairShareScheduler, WhatATenantHasTooMuchOfIsNotGivenToItAgain) {
  FairShareScheduler scheduler(4);
  scheduler.Register("flood", kNow);
  EXPECT_EQ(BeginAll(scheduler, "flood"), 4);
  scheduler.Wait("flood", 1);
  scheduler.Register("quiet", kNow);
  EXPECT_FALSE(scheduler.TryAcquire("quiet", kNow));
  scheduler.Wait("quiet", 2);
  scheduler.Release("flood");
  EXPECT_THAT(scheduler.Next(kNow), Optional(2));
  scheduler.Release("flood");
  EXPECT_THAT(scheduler.Next(kNow), Eq(std::nullopt)) << "kept for the quiet one";
  EXPECT_TRUE(scheduler.TryAcquire("quiet", kNow));
  scheduler.Release("flood");
  EXPECT_THAT(scheduler.Next(kNow), Optional(1));
}

TEST(FairShareScheduler, WhoLeavesLeavesItsShareToTheOthers) {
  FairShareScheduler scheduler(2);
  scheduler.Register("a", kNow);
  scheduler.Register("b", kNow);
  EXPECT_EQ(BeginAll(scheduler, "a"), 1);
  scheduler.Wait("a", 1);
  EXPECT_THAT(scheduler.Next(kNow), Eq(std::nullopt));
  scheduler.Unregister("b", kNow);
  EXPECT_THAT(scheduler.Next(kNow), Optional(1));
}

TEST(FairShareScheduler, MoreTenantsThanPlacesTakeTurns) {
  FairShareScheduler scheduler(1);
  for (const char* tenant : {"a", "b", "c"}) scheduler.Register(tenant, kNow);
  EXPECT_TRUE(scheduler.TryAcquire("a", kNow));
  FairShareScheduler::Waiter waiter = 0;
  for (const char* tenant : {"a", "a", "b", "b", "c"}) scheduler.Wait(tenant, ++waiter);
  std::vector<FairShareScheduler::Waiter> order;
  for (const char* had = "a"; had != nullptr;) {
    scheduler.Release(had);
    const std::optional<FairShareScheduler::Waiter> next = scheduler.Next(kNow);
    if (next.has_value()) order.push_back(*next);
    had = !next.has_value() ? nullptr : *next <= 2 ? "a" : *next <= 4 ? "b" : "c";
  }
  EXPECT_THAT(order, ElementsAre(1, 3, 5, 2, 4));
}

class Crowd {
 public:
  // One tenant that has many diagnoses running.
  Crowd() {
    for (int i = 0; i < 20; ++i) scheduler.Register("flood", kNow);
  }
  FairShareScheduler scheduler{8};
};

TEST(FairShareScheduler, ATenantThatComesWithItsOnlyDiagnosisGoesBeforeOneThatHasMany) {
  Crowd crowd;
  EXPECT_EQ(crowd.scheduler.Register("quiet", kNow), absl::Milliseconds(250));
  EXPECT_EQ(BeginAll(crowd.scheduler, "flood"), 0);
  crowd.scheduler.Wait("flood", 1);
  EXPECT_THAT(crowd.scheduler.Next(kNow), Eq(std::nullopt));
  EXPECT_EQ(BeginAll(crowd.scheduler, "quiet"), 4);
  crowd.scheduler.Unregister("quiet", kNow + absl::Milliseconds(40));
  EXPECT_THAT(crowd.scheduler.Next(kNow + absl::Milliseconds(40)), Optional(1));
}

TEST(FairShareScheduler, WhoStaysHoldsTheOthersForAWhileOnly) {
  Crowd crowd;
  crowd.scheduler.Wait("flood", 1);
  const absl::Duration held = crowd.scheduler.Register("quiet", kNow);
  EXPECT_THAT(crowd.scheduler.Next(kNow + held - absl::Milliseconds(1)), Eq(std::nullopt));
  EXPECT_THAT(crowd.scheduler.Next(kNow + held), Optional(1));
  EXPECT_EQ(BeginAll(crowd.scheduler, "quiet"), 4) << "shares are equal then";
}

TEST(FairShareScheduler, WhoComesAgainAndAgainHoldsTheOthersAFifthOfTheTime) {
  Crowd crowd;
  absl::Duration held;
  absl::Time now = kNow;
  for (; now < kNow + absl::Seconds(100); now += absl::Milliseconds(1)) {
    crowd.scheduler.Register("quiet", now);
    crowd.scheduler.Wait("flood", 1);
    if (const auto next = crowd.scheduler.Next(now + absl::Microseconds(999)); next.has_value()) {
      crowd.scheduler.Release("flood");
    } else {
      held += absl::Milliseconds(1);
    }
    crowd.scheduler.Unregister("quiet", now + absl::Milliseconds(1));
  }
  EXPECT_GT(held, absl::Seconds(15));
  EXPECT_LT(held, absl::Seconds(25));
}

TEST(FairShareScheduler, TenantsThatHaveAboutAsManyHoldNobody) {
  FairShareScheduler scheduler(8);
  for (int i = 0; i < 3; ++i) scheduler.Register("a", kNow);
  EXPECT_EQ(scheduler.Register("b", kNow), absl::ZeroDuration());
  EXPECT_EQ(BeginAll(scheduler, "a"), 4);
}

TEST(FairCallLimiter, WhoIsHeldGoesOnByItselfWhenThatIsOver) {
  absl::Time now = kNow;
  Timers timers([&now] { return now; });
  FairCallLimiter call_limiter(8, timers);
  std::vector<FairCallLimiter::ActiveDiagnosis> flood;
  for (int i = 0; i < 20; ++i) flood.push_back(call_limiter.Register("flood"));
  const FairCallLimiter::ActiveDiagnosis quiet = call_limiter.Register("quiet");
  bool given = false;
  call_limiter.Wait("flood", [&](FairCallLimiter::Permit) { given = true; });
  EXPECT_FALSE(given);
  now += absl::Seconds(1);
  timers.RunDue();
  EXPECT_TRUE(given);
}

TEST(FairCallLimiter, GivesAPlaceToTheNextOneWhenItGoesAway) {
  Timers timers;
  FairCallLimiter call_limiter(1, timers);
  const FairCallLimiter::ActiveDiagnosis presence = call_limiter.Register("a");
  std::optional<FairCallLimiter::Permit> permit = call_limiter.TryAcquire("a");
  ASSERT_TRUE(permit.has_value());
  EXPECT_FALSE(call_limiter.TryAcquire("a").has_value());
  std::vector<FairCallLimiter::Permit> given;
  call_limiter.Wait("a", [&](FairCallLimiter::Permit next) { given.push_back(std::move(next)); });
  EXPECT_EQ(given.size(), 0u);
  permit.reset();
  EXPECT_EQ(given.size(), 1u);
  given.clear();
  EXPECT_TRUE(call_limiter.TryAcquire("a").has_value());
}

TEST(FairCallLimiter, ThousandsWhoHaveGoneMeanwhileAreSkippedAndNoPlaceIsLost) {
  Timers timers;
  FairCallLimiter call_limiter(1, timers);
  const FairCallLimiter::ActiveDiagnosis presence = call_limiter.Register("a");
  std::optional<FairCallLimiter::Permit> permit = call_limiter.TryAcquire("a");
  for (int i = 0; i < 200'000; ++i) call_limiter.Wait("a", [](FairCallLimiter::Permit) {});
  bool given = false;
  call_limiter.Wait("a", [&](FairCallLimiter::Permit) { given = true; });
  permit.reset();
  EXPECT_TRUE(given);
  EXPECT_TRUE(call_limiter.TryAcquire("a").has_value());
}

TEST(FairCallLimiter, MayGoBeforeItsPlaces) {
  Timers timers;
  std::optional<FairCallLimiter> call_limiter;
  call_limiter.emplace(1, timers);
  std::optional<FairCallLimiter::Permit> permit = call_limiter->TryAcquire("a");
  call_limiter.reset();
  permit.reset();
}

}  // namespace
}  // namespace galen::orchestrator
