#include "common/http/retry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace galen::http {
namespace retry_test {

using ::testing::Eq;
using ::testing::Optional;

constexpr RetryPolicy kPolicy{
    .most = 5, .base = absl::Milliseconds(200), .longest = absl::Milliseconds(1000)};

TEST(Pause, GrowsToItsLimitAndIsAnythingBelow) {
  EXPECT_EQ(Pause(kPolicy, 1, {}, 0.5), absl::Milliseconds(100));
  EXPECT_EQ(Pause(kPolicy, 2, {}, 0.5), absl::Milliseconds(200));
  EXPECT_EQ(Pause(kPolicy, 3, {}, 0.5), absl::Milliseconds(400));
  EXPECT_EQ(Pause(kPolicy, 4, {}, 0.5), absl::Milliseconds(500));
  EXPECT_EQ(Pause(kPolicy, 1000000, {}, 0.5), absl::Milliseconds(500));
  EXPECT_EQ(Pause(kPolicy, 3, {}, 0), absl::ZeroDuration());
}

TEST(Pause, IsNeverShorterThanTheEndpointAskedFor) {
  EXPECT_EQ(Pause(kPolicy, 1, absl::Seconds(7), 0), absl::Seconds(7));
  EXPECT_EQ(Pause(kPolicy, 1, absl::Seconds(7), 0.5), absl::Milliseconds(7100));
}

TEST(RetryAfter, IsSecondsOrADate) {
  const absl::Time now = absl::FromUnixSeconds(784111777);  // 1994-11-06 08:49:37
  EXPECT_THAT(ParseRetryAfter("120", now), Optional(absl::Seconds(120)));
  EXPECT_THAT(ParseRetryAfter(" 0.5 ", now), Optional(absl::Milliseconds(500)));
  EXPECT_THAT(ParseRetryAfter("Sun, 06 Nov 1994 08:49:47 GMT", now), Optional(absl::Seconds(10)));
  EXPECT_THAT(ParseRetryAfter("Sunday, 06-Nov-94 08:49:47 GMT", now), Optional(absl::Seconds(10)));
  EXPECT_THAT(ParseRetryAfter("Sun Nov  6 08:49:47 1994", now), Optional(absl::Seconds(10)));
  EXPECT_THAT(ParseRetryAfter("Sun, 06 Nov 1994 08:00:00 GMT", now),
              Optional(absl::ZeroDuration()));
}

TEST(RetryAfter, OfAnythingElseIsNothing) {
  for (const char* value : {"", "soon", "-1", "nan", "inf", "1e999", "12 apples", "Sun, 06 Nov"}) {
    EXPECT_THAT(ParseRetryAfter(value, absl::Now()), Eq(std::nullopt)) << value;
  }
}

}  // namespace retry_test
}  // namespace galen::http
