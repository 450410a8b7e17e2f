#include "services/orchestrator/timers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "absl/time/clock.h"

namespace galen::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Timers, RunWhatIsDueInOrderOfTime) {
  Timers timers;
  std::vector<int> ran;
  const absl::Time start = absl::UnixEpoch();
  timers.At(start + absl::Seconds(2), [&] { ran.push_back(2); });
  timers.At(start + absl::Seconds(1), [&] { ran.push_back(1); });
  timers.At(start + absl::Seconds(3), [&] { ran.push_back(3); });
  timers.RunDue(start);
  EXPECT_THAT(ran, IsEmpty());
  timers.RunDue(start + absl::Seconds(2));
  EXPECT_THAT(ran, ElementsAre(1, 2));
  timers.RunDue(start + absl::Seconds(2));
  EXPECT_THAT(ran, ElementsAre(1, 2));
}

TEST(Timers, LetAnActionSetAnother) {
  Timers timers;
  int ran = 0;
  timers.At(absl::UnixEpoch(), [&] { timers.At(absl::UnixEpoch(), [&] { ++ran; }); });
  timers.RunDue(absl::UnixEpoch());
  timers.RunDue(absl::UnixEpoch());
  EXPECT_EQ(ran, 1);
}

TEST(Timers, ThreadIsWokenByAnEarlierAction) {
  Timers timers;
  std::promise<void> ran;
  timers.At(absl::Now() + absl::Hours(1), [] { FAIL() << "an hour early"; });
  timers.Start();
  timers.At(absl::Now(), [&] { ran.set_value(); });
  ran.get_future().wait();
  timers.Stop();
}

}  // namespace
}  // namespace galen::orchestrator
