#include "services/orchestrator/byte_quota.h"

#include <gmock/gmock.h>

#include <memory>

#include "common/base/retry_hint.h"
#include "common/store/store.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::orchestrator {
namespace byte_quota_test {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

class ByteQuotaTest : public ::testing::Test {
 protected:
  galen::testing::FakeClock clock_;
  const std::unique_ptr<store::Store> store_ = store::OpenStore(":memory:").value();
  const std::function<absl::Status(const std::string&, std::size_t)> take_ =
      MakeByteQuota(store_->rates(), clock_, 86'400, [](const absl::Status&) { FAIL(); });
};

TEST_F(ByteQuotaTest, ATenantUsesUpItsOwnBytesAndNobodyElses) {
  EXPECT_THAT(take_("tenants/acme", 80'000), IsOk());
  const absl::Status full = take_("tenants/acme", 10'000);
  EXPECT_THAT(full, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("tenants/acme")));
  EXPECT_TRUE(RetryAfter(full).has_value());
  EXPECT_THAT(take_("tenants/acme", 6'000), IsOk());
  EXPECT_THAT(take_("tenants/globex", 80'000), IsOk());
  // A byte a second comes back.
  clock_.Advance(absl::Seconds(10'000));
  EXPECT_THAT(take_("tenants/acme", 10'000), IsOk());
}

TEST_F(ByteQuotaTest, WhatCouldNeverBeKeptIsRefusedForGood) {
  EXPECT_THAT(take_("tenants/acme", 86'401), StatusIs(absl::StatusCode::kInvalidArgument, _));
  EXPECT_THAT(take_("tenants/acme", 0), IsOk());
}

}  // namespace byte_quota_test
}  // namespace galen::orchestrator
