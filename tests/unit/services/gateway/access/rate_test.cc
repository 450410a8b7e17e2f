#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/clock.h"
#include "common/store/store.h"
#include "services/gateway/access/store_rate_gate.h"
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

absl::StatusOr<Allowance> Take(RateGate& gate, const std::string& tenant, bool starts) {
  absl::StatusOr<Allowance> taken;
  gate.Take(tenant, starts,
            [&taken](absl::StatusOr<Allowance> allowance) { taken = std::move(allowance); });
  return taken;
}

constexpr StoreRateGate::Options kOptions = {.requests = {.per_second = 2, .burst = 3},
                                             .diagnoses = {.per_second = 1, .burst = 1}};

TEST(StoreRateGate, CountsEachTenantAndStartsApart) {
  const auto store = store::OpenStore(":memory:").value();
  const StoppedClock clock;
  Inline executor;
  StoreRateGate gate(store->rates(), clock, executor, kOptions, [](const absl::Status&) {});
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

TEST(StoreRateGate, LetsRequestsThroughWhileTheStoreIsAwayAndSaysSo) {
  Away away;
  const StoppedClock clock;
  Inline executor;
  int problems = 0;
  StoreRateGate gate(away, clock, executor, kOptions, [&](const absl::Status&) { ++problems; });
  EXPECT_EQ(Take(gate, "acme", false)->wait, absl::ZeroDuration());
  EXPECT_EQ(problems, 1);
}

TEST(StoreRateGate, RefusesWhatItHasNoThreadFor) {
  Away away;
  const StoppedClock clock;
  Inline executor;
  executor.full = true;
  StoreRateGate gate(away, clock, executor, kOptions, [](const absl::Status&) {});
  EXPECT_THAT(Take(gate, "acme", false),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("try again")));
}

}  // namespace
}  // namespace galen::gateway
