#include "common/base/steady.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "absl/time/time.h"

namespace {
std::atomic<int> clock_set_by_seconds = 0;
}  // namespace

// The machine's clock, as everything in this program reads it, can be set.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (clock == CLOCK_REALTIME) time->tv_sec += clock_set_by_seconds;
  return result;
}

namespace galen {
namespace {

absl::Time TimeOfDay() { return absl::FromChrono(std::chrono::system_clock::now()); }

class Steady : public ::testing::TestWithParam<int> {
 protected:
  ~Steady() override { clock_set_by_seconds = 0; }
};

TEST_P(Steady, GoesOnEvenlyWhileTheClockIsSet) {
  const absl::Time time_of_day = TimeOfDay();
  const absl::Time before = SteadyNow();
  clock_set_by_seconds = GetParam();
  ASSERT_GT(absl::AbsDuration(TimeOfDay() - time_of_day), absl::Minutes(4));
  const absl::Time after = SteadyNow();
  EXPECT_GE(after, before);
  EXPECT_LT(after - before, absl::Minutes(1));
}

TEST_P(Steady, ADeadlineGivenAfterTheClockWasSetIsAsFarAway) {
  clock_set_by_seconds = GetParam();
  const absl::Duration left = ToSteady(TimeOfDay() + absl::Minutes(2)) - SteadyNow();
  EXPECT_LT(left, absl::Minutes(3));
  EXPECT_GT(left, absl::Minutes(1));
  const absl::Duration said = absl::FromChrono(ClockIn(absl::Minutes(2))) - TimeOfDay();
  EXPECT_LT(said, absl::Minutes(3));
  EXPECT_GT(said, absl::Minutes(1));
}

TEST_P(Steady, ADeadlineKeptWhileTheClockIsSetIsAsFarAway) {
  const absl::Time kept = ToSteady(TimeOfDay() + absl::Minutes(2));
  clock_set_by_seconds = GetParam();
  const absl::Duration left = ToTimeOfDay(kept) - TimeOfDay();
  EXPECT_LT(left, absl::Minutes(3));
  EXPECT_GT(left, absl::Minutes(1));
}

INSTANTIATE_TEST_SUITE_P(Clock, Steady, ::testing::Values(300, -300));

TEST(SteadyTime, NoDeadlineStaysNone) {
  EXPECT_EQ(ToSteady(absl::InfiniteFuture()), absl::InfiniteFuture());
  EXPECT_EQ(ToSteady(absl::InfinitePast()), absl::InfinitePast());
  EXPECT_EQ(ToTimeOfDay(absl::InfiniteFuture()), absl::InfiniteFuture());
  EXPECT_EQ(ToTimeOfDay(absl::InfinitePast()), absl::InfinitePast());
}

}  // namespace
}  // namespace galen
