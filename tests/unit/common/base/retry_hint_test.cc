#include "common/base/retry_hint.h"

#include <gtest/gtest.h>

#include "absl/strings/cord.h"

namespace galen {
namespace {

TEST(RetryHint, IsWhatWasSaidAndNothingWhereNothingWas) {
  const absl::Status status =
      WithRetryAfter(absl::ResourceExhaustedError("full"), absl::Milliseconds(1500));
  EXPECT_EQ(status.message(), "full");
  EXPECT_EQ(RetryAfter(status), absl::Milliseconds(1500));
  EXPECT_EQ(RetryAfter(absl::ResourceExhaustedError("full")), std::nullopt);
  EXPECT_EQ(RetryAfter(WithRetryAfter(absl::OkStatus(), absl::Seconds(1))), std::nullopt);
}

TEST(RetryHint, ABadPeerMakesNobodyWaitForEver) {
  absl::Status status = WithRetryAfter(absl::UnavailableError("x"), absl::InfiniteDuration());
  EXPECT_EQ(RetryAfter(status), absl::Hours(1));
  status = WithRetryAfter(status, -absl::Seconds(5));
  EXPECT_EQ(RetryAfter(status), absl::ZeroDuration());
  status.SetPayload("galen/retry-after", absl::Cord("soon"));
  EXPECT_EQ(RetryAfter(status), std::nullopt);
}

}  // namespace
}  // namespace galen
