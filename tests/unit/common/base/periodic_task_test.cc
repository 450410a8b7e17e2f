#include "common/base/periodic_task.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace galen {
namespace {

TEST(PeriodicTask, CallsAgainAfterThePauseThatTheCallGives) {
  std::atomic<int> calls = 0;
  std::promise<void> third;
  PeriodicTask task([&] {
    if (++calls == 3) third.set_value();
    return calls < 3 ? absl::ZeroDuration() : absl::InfiniteDuration();
  });
  third.get_future().get();
  task.Stop();
  EXPECT_EQ(calls, 3);
}

TEST(PeriodicTask, IsWokenFromAnEndlessPauseAlsoBeforeItBegins) {
  std::promise<void> first;
  std::promise<void> second;
  std::atomic<int> calls = 0;
  PeriodicTask task([&] {
    ++calls;
    (calls == 1 ? first : second).set_value();
    return absl::InfiniteDuration();
  });
  first.get_future().get();
  task.Wake();  // perhaps during the first call
  second.get_future().get();
  EXPECT_EQ(calls, 2);
}

TEST(PeriodicTask, ItsEndNeitherWaitsForThePauseNorCallsAgain) {
  std::atomic<int> calls = 0;
  {
    const PeriodicTask task([&] { return ++calls, absl::Hours(1); }, absl::Hours(1));
  }
  EXPECT_EQ(calls, 0);
}

TEST(PeriodicTask, ItsEndWaitsForTheCallUnderWay) {
  std::promise<void> begun;
  std::atomic<bool> ended = false;
  {
    PeriodicTask* self = nullptr;
    std::promise<void> known;
    PeriodicTask task([&] {
      known.get_future().get();
      begun.set_value();
      while (!self->stopping()) std::this_thread::yield();
      ended = true;
      return absl::InfiniteDuration();
    });
    self = &task;
    known.set_value();
    begun.get_future().get();
  }
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace galen
