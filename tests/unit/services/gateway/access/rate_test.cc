#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/store/store.h"
#include "services/gateway/access/store_rate_limiter.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::gateway {
namespace {

using ::galen::testing::StatusIs;
using ::testing::HasSubstr;

class StoppedClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::FromUnixSeconds(1'800'000'000); }
};

class Inline final : public Executor {
 public:
  bool TrySchedule(absl::AnyInvocable<void() &&> task) override {
    if (full) return false;
    std::move(task)();
    return true;
  }
  bool full = false;
};

class Away final : public store::RateLimits {
 public:
  absl::StatusOr<store::RateGrant> Take(absl::string_view, const store::RateLimit&, double,
                                        absl::Time) override {
    return absl::UnavailableError("the store is away");
  }
};

absl::StatusOr<Allowance> Take(RateLimiter& gate, const std::string& tenant, bool starts) {
  absl::StatusOr<Allowance> taken;
  gate.Take(tenant, starts,
            [&taken](absl::StatusOr<Allowance> allowance) { taken = std::move(allowance); });
  return taken;
}

constexpr StoreRateLimiter::Options kOptions = {.requests = {.per_second = 2, .burst = 3},
                                                .diagnoses = {.per_second = 1, .burst = 1}};

TEST(StoreRateLimiter, CountsEachTenantAndStartsApart) {
  const auto store = store::OpenStore(":memory:").value();
  const StoppedClock clock;
  Inline executor;
  StoreRateLimiter gate(store->rates(), clock, executor, kOptions, [](const absl::Status&) {});
  for (int left = 2; left >= 0; --left) {
    const auto taken = Take(gate, "acme", false);
    ASSERT_TRUE(taken.ok());
    EXPECT_EQ(taken->left, left);
    EXPECT_EQ(taken->limit, 3);
    EXPECT_EQ(taken->wait, absl::ZeroDuration());
    EXPECT_EQ(taken->full_in, absl::Seconds((3 - left) / 2.0));
  }
  EXPECT_EQ(Take(gate, "acme", false)->wait, absl::Milliseconds(500));
  EXPECT_EQ(Take(gate, "acme", true)->wait, absl::ZeroDuration());
  EXPECT_EQ(Take(gate, "acme", true)->wait, absl::Seconds(1));
  EXPECT_EQ(Take(gate, "other", false)->left, 2);
}

TEST(StoreRateLimiter, AQuotaOfADayComesBackEvenlyOverADay) {
  const auto store = store::OpenStore(":memory:").value();
  testing::FakeClock clock;
  Inline executor;
  StoreRateLimiter gate(store->rates(), clock, executor,
                        {.diagnoses = {.per_second = 100, .burst = 100}, .diagnoses_a_day = 4},
                        [](const absl::Status&) {});
  for (int left = 3; left >= 0; --left) {
    const auto taken = Take(gate, "acme", true);
    ASSERT_TRUE(taken.ok());
    EXPECT_EQ(taken->wait, absl::ZeroDuration());
    EXPECT_TRUE(taken->is_quota);
    EXPECT_EQ(taken->left, left);
    EXPECT_EQ(taken->limit, 4);
  }
  EXPECT_EQ(Take(gate, "acme", true)->wait, absl::Hours(6));
  EXPECT_EQ(Take(gate, "other", true)->left, 3);
  EXPECT_FALSE(Take(gate, "acme", false)->is_quota);
  clock.Advance(absl::Hours(6));
  EXPECT_EQ(Take(gate, "acme", true)->wait, absl::ZeroDuration());
  EXPECT_GT(Take(gate, "acme", true)->wait, absl::ZeroDuration());
}

// Counts how often it is asked.
class Counting final : public store::RateLimits {
 public:
  explicit Counting(store::RateLimits& real) : real_(real) {}
  absl::StatusOr<store::RateGrant> Take(absl::string_view key, const store::RateLimit& limit,
                                        double cost, absl::Time now) override {
    ++asked;
    return real_.Take(key, limit, cost, now);
  }
  int asked = 0;

 private:
  store::RateLimits& real_;
};

TEST(StoreRateLimiter, TakesSomeAtATimeOfAHighLimitAndLetsThroughNoneMore) {
  const auto store = store::OpenStore(":memory:").value();
  Counting rates(store->rates());
  testing::FakeClock clock;
  Inline executor;
  const StoreRateLimiter::Options options = {.requests = {.per_second = 50, .burst = 200}};
  StoreRateLimiter one(rates, clock, executor, options, [](const absl::Status&) {});
  StoreRateLimiter other(rates, clock, executor, options, [](const absl::Status&) {});
  int let_through = 0;
  for (int i = 0; i < 300; ++i) {
    const auto taken = Take(i % 3 == 0 ? other : one, "acme", false);
    ASSERT_TRUE(taken.ok());
    let_through += taken->wait == absl::ZeroDuration() ? 1 : 0;
  }
  EXPECT_EQ(let_through, 200);
  EXPECT_EQ(rates.asked, 20 + 2 * 100);  // then each asks for a portion, and for one
  // Permits that are not used within a second expire.
  clock.Advance(absl::Seconds(1));
  EXPECT_EQ(Take(one, "acme", false)->left, 49);
  clock.Advance(absl::Seconds(1));
  const int asked = rates.asked;
  EXPECT_EQ(Take(one, "acme", false)->wait, absl::ZeroDuration());
  EXPECT_EQ(rates.asked, asked + 1);
}

// Runs its tasks on command only.
class Later final : public Executor {
 public:
  bool TrySchedule(absl::AnyInvocable<void() &&> task) override {
    tasks.push_back(std::move(task));
    return true;
  }
  void RunAll() {
    for (auto& task : tasks) std::move(task)();
    tasks.clear();
  }
  std::vector<absl::AnyInvocable<void() &&>> tasks;
};

TEST(StoreRateLimiter, ACrowdThatComesAtOnceIsLetThroughToTheLastOfItsBurst) {
  const auto store = store::OpenStore(":memory:").value();
  const StoppedClock clock;
  Later executor;
  StoreRateLimiter gate(store->rates(), clock, executor,
                        {.requests = {.per_second = 50, .burst = 200}}, [](const absl::Status&) {});
  int let_through = 0;
  for (int i = 0; i < 200; ++i) {
    gate.Take("acme", false, [&](absl::StatusOr<Allowance> allowance) {
      let_through += allowance.ok() && allowance->wait == absl::ZeroDuration() ? 1 : 0;
    });
  }
  EXPECT_EQ(let_through, 0);
  executor.RunAll();
  EXPECT_EQ(let_through, 200);
}

TEST(StoreRateLimiter, LetsRequestsThroughWhileTheStoreIsAwayAndSaysSo) {
  Away away;
  const StoppedClock clock;
  Inline executor;
  int problems = 0;
  StoreRateLimiter gate(away, clock, executor, kOptions, [&](const absl::Status&) { ++problems; });
  EXPECT_EQ(Take(gate, "acme", false)->wait, absl::ZeroDuration());
  EXPECT_EQ(problems, 1);
}

TEST(StoreRateLimiter, RefusesWhatItHasNoThreadFor) {
  Away away;
  const StoppedClock clock;
  Inline executor;
  executor.full = true;
  StoreRateLimiter gate(away, clock, executor, kOptions, [](const absl::Status&) {});
  EXPECT_THAT(Take(gate, "acme", false),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("try again")));
}

}  // namespace
}  // namespace galen::gateway
