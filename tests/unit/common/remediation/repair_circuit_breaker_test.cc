// Limits the machines under repair at once, and stops after too many failures.
#include "common/remediation/repair_circuit_breaker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/store/store.h"
#include "tests/testing/status_matchers.h"

namespace galen::remediation {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;

class RepairCircuitBreakerTest : public ::testing::Test {
 protected:
  absl::Status Begin(int i) {
    return breaker_.Begin(absl::StrCat("a", i), absl::StrCat("n", i), now_);
  }
  absl::Status End(int i, bool failed) { return breaker_.End(absl::StrCat("a", i), failed, now_); }

  const std::unique_ptr<store::Store> store_ = store::OpenStore(":memory:").value();
  absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
  RepairCircuitBreaker breaker_{store_->records(), {}};
};

TEST_F(RepairCircuitBreakerTest, LetsSoManyBeginAtOnceAndOneOfEachMachine) {
  EXPECT_THAT(Begin(1), IsOk());
  EXPECT_THAT(Begin(1), IsOk());  // it has begun already
  EXPECT_THAT(breaker_.Begin("another", "n1", now_),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("n1")));
  EXPECT_THAT(Begin(2), IsOk());
  EXPECT_THAT(Begin(3), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("2 repairs")));
  EXPECT_THAT(End(1, false), IsOk());
  EXPECT_THAT(Begin(3), IsOk());
}

TEST_F(RepairCircuitBreakerTest, StopsTheFleetWhenTooManyFailedUntilSomeTimeHasPassed) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Begin(i), IsOk());
    EXPECT_THAT(End(i, true), IsOk());
    now_ += absl::Minutes(10);
  }
  EXPECT_THAT(Begin(7), StatusIs(absl::StatusCode::kFailedPrecondition,
                                 HasSubstr("3 repairs of the fleet failed within 1h")));
  now_ += absl::Minutes(29);
  EXPECT_THAT(Begin(7), StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::_));
  now_ += absl::Minutes(2);
  EXPECT_THAT(Begin(7), IsOk());
}

TEST_F(RepairCircuitBreakerTest, OneThatNeverEndsIsAFailureAndHoldsNoPlaceForEver) {
  EXPECT_THAT(Begin(1), IsOk());
  EXPECT_THAT(Begin(2), IsOk());
  now_ += absl::Hours(2);
  EXPECT_THAT(Begin(3), IsOk());
  EXPECT_THAT(End(3, true), IsOk());
  EXPECT_THAT(Begin(4), StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::_));
}

TEST_F(RepairCircuitBreakerTest, ReplicasThatShareAStoreShareIt) {
  RepairCircuitBreaker other(store_->records(), {});
  EXPECT_THAT(Begin(1), IsOk());
  EXPECT_THAT(other.Begin("a2", "n2", now_), IsOk());
  EXPECT_THAT(Begin(3), StatusIs(absl::StatusCode::kResourceExhausted, ::testing::_));
  EXPECT_THAT(End(2, false), IsOk());
  EXPECT_THAT(other.Begin("a3", "n3", now_), IsOk());
}

}  // namespace
}  // namespace galen::remediation
