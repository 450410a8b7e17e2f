#include "services/gateway/kubernetes/lease.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/store/store.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::gateway::kubernetes {
namespace {

class LeaseTest : public ::testing::Test {
 protected:
  static bool Holds(Lease& lease) {
    const auto holds = lease.Hold();
    EXPECT_THAT(holds, galen::testing::IsOk());
    return holds.ok() && *holds;
  }
  const std::unique_ptr<store::Store> store_ = store::OpenStore(":memory:").value();
  galen::testing::FakeClock clock_;
  Lease first_{store_->records(), "diagnoses", "first", clock_};
  Lease second_{store_->records(), "diagnoses", "second", clock_};
};

TEST_F(LeaseTest, IsHeldByOneAsLongAsItAsksAgain) {
  EXPECT_TRUE(Holds(first_));
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(Holds(second_));
    clock_.Advance(Lease::kTime / 3);
    EXPECT_TRUE(Holds(first_));
  }
}

TEST_F(LeaseTest, PassesToAnotherWhenItsHolderIsGone) {
  EXPECT_TRUE(Holds(first_));
  clock_.Advance(Lease::kTime);
  EXPECT_TRUE(Holds(second_));
  EXPECT_FALSE(Holds(first_));
}

TEST_F(LeaseTest, PassesAtOnceWhenItIsGivenUp) {
  EXPECT_TRUE(Holds(first_));
  second_.GiveUp();
  EXPECT_FALSE(Holds(second_));
  first_.GiveUp();
  EXPECT_TRUE(Holds(second_));
}

TEST_F(LeaseTest, IsNotLostToAClockThatWasWrongOrToNonsense) {
  clock_.Advance(absl::Hours(24 * 365));
  EXPECT_TRUE(Holds(first_));
  clock_.Advance(-absl::Hours(24 * 365));
  EXPECT_TRUE(Holds(second_));
  for (const char* nonsense : {"", "nonsense", "x y", "99999999999999999999 first"}) {
    const auto record = store_->records().Get("kubernetes.lease", "diagnoses").value();
    ASSERT_THAT(store_->records().Put("kubernetes.lease", "diagnoses", nonsense, record->version),
                galen::testing::IsOk());
    EXPECT_TRUE(Holds(second_)) << nonsense;
  }
}

}  // namespace
}  // namespace galen::gateway::kubernetes
