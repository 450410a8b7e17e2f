#include "common/base/timers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/testing/fake_clock.h"

namespace galen {
namespace {

using ::galen::testing::FakeClock;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Timers, RunWhatIsDueInOrderOfTime) {
  FakeClock clock;
  Timers timers([&] { return clock.Now(); });
  std::vector<int> ran;
  timers.After(absl::Seconds(2), [&] { ran.push_back(2); });
  timers.After(absl::Seconds(1), [&] { ran.push_back(1); });
  timers.After(absl::Seconds(3), [&] { ran.push_back(3); });
  timers.RunDue();
  EXPECT_THAT(ran, IsEmpty());
  clock.Advance(absl::Seconds(2));
  timers.RunDue();
  EXPECT_THAT(ran, ElementsAre(1, 2));
  timers.RunDue();
  EXPECT_THAT(ran, ElementsAre(1, 2));
}

TEST(Timers, LetAnActionSetAnother) {
  Timers timers;
  int ran = 0;
  timers.After(absl::ZeroDuration(), [&] { timers.After(absl::ZeroDuration(), [&] { ++ran; }); });
  timers.RunDue();
  timers.RunDue();
  EXPECT_EQ(ran, 1);
}

TEST(Timers, ThreadIsWokenByAnEarlierAction) {
  Timers timers;
  std::promise<void> ran;
  timers.After(absl::Hours(1), [] { FAIL() << "an hour early"; });
  timers.Start();
  timers.After(absl::ZeroDuration(), [&] { ran.set_value(); });
  ran.get_future().wait();
  timers.Stop();
}

}  // namespace
}  // namespace galen
