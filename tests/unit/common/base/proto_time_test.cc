#include "common/base/proto_time.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

TEST(ProtoTime, KeepsNanosecondsBothWays) {
  for (const absl::Time time : {absl::UnixEpoch(), absl::FromUnixNanos(1'769'860'800'123'456'789),
                                absl::FromUnixNanos(-1), absl::FromUnixNanos(-1'500'000'000)}) {
    EXPECT_EQ(ToTime(ToTimestamp(time)), time);
  }
  EXPECT_EQ(ToTimestamp(absl::FromUnixNanos(-1)).seconds(), -1);
  EXPECT_EQ(ToTimestamp(absl::FromUnixNanos(-1)).nanos(), 999'999'999);
}

TEST(ProtoTime, HoldsTheYearsOfATimestampOnly) {
  EXPECT_EQ(ToTime(ToTimestamp(absl::InfinitePast())),
            absl::FromCivil(absl::CivilSecond(1, 1, 1), absl::UTCTimeZone()));
  EXPECT_EQ(ToTime(ToTimestamp(absl::InfiniteFuture())),
            absl::FromCivil(absl::CivilSecond(9999, 12, 31, 23, 59, 59), absl::UTCTimeZone()));
}

TEST(ProtoTime, TheSignsOfADurationAreTheSame) {
  for (const absl::Duration duration :
       {absl::ZeroDuration(), absl::Milliseconds(1500), -absl::Milliseconds(1500)}) {
    EXPECT_EQ(ToDuration(ToProtoDuration(duration)), duration);
  }
  EXPECT_EQ(ToProtoDuration(-absl::Milliseconds(1500)).seconds(), -1);
  EXPECT_EQ(ToProtoDuration(-absl::Milliseconds(1500)).nanos(), -500'000'000);
}

}  // namespace
}  // namespace galen
