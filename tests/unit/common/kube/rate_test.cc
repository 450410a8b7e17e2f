#include "common/kube/rate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::kube {
namespace {

using ::testing::Optional;

const absl::Time kStart = absl::FromUnixSeconds(1000);

TEST(TokenBucket, LetsABurstThroughAndThenSoManyASecond) {
  TokenBucket bucket(/*per_second=*/2, /*burst=*/3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(bucket.Take(kStart, absl::Minutes(1)), Optional(absl::ZeroDuration()));
  }
  EXPECT_THAT(bucket.Take(kStart, absl::Minutes(1)), Optional(absl::Milliseconds(500)));
  EXPECT_THAT(bucket.Take(kStart, absl::Minutes(1)), Optional(absl::Seconds(1)));
}

TEST(TokenBucket, FillsUpWithTimeAndNoFurther) {
  TokenBucket bucket(2, 3);
  for (int i = 0; i < 3; ++i) (void)bucket.Take(kStart, absl::ZeroDuration());
  EXPECT_THAT(bucket.Take(kStart + absl::Milliseconds(500), absl::ZeroDuration()),
              Optional(absl::ZeroDuration()));
  const absl::Time later = kStart + absl::Hours(1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(bucket.Take(later, absl::ZeroDuration()), Optional(absl::ZeroDuration()));
  }
  EXPECT_EQ(bucket.Take(later, absl::ZeroDuration()), std::nullopt);
}

TEST(TokenBucket, TakesNoTurnThatWouldBeWaitedForTooLong) {
  TokenBucket bucket(1, 1);
  EXPECT_THAT(bucket.Take(kStart, absl::ZeroDuration()), Optional(absl::ZeroDuration()));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(bucket.Take(kStart, absl::Milliseconds(900)), std::nullopt);
  }
  EXPECT_THAT(bucket.Take(kStart, absl::Seconds(1)), Optional(absl::Seconds(1)));
}

TEST(TokenBucket, StandsStillWhenTimeGoesBack) {
  TokenBucket bucket(1, 1);
  (void)bucket.Take(kStart, absl::ZeroDuration());
  EXPECT_EQ(bucket.Take(kStart - absl::Hours(1), absl::ZeroDuration()), std::nullopt);
  EXPECT_THAT(bucket.Take(kStart + absl::Seconds(1), absl::ZeroDuration()),
              Optional(absl::ZeroDuration()));
}

}  // namespace
}  // namespace galen::kube
