#include "common/base/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

namespace galen {
namespace {

TEST(ThreadPool, RunsEveryTaskItTook) {
  std::atomic<int> ran = 0;
  {
    ThreadPool pool(/*threads=*/4, /*max_queued=*/100);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(pool.TrySchedule([&ran] { ++ran; }));
  }
  EXPECT_EQ(ran, 100);
}

TEST(ThreadPool, RefusesWhatItsQueueCannotHold) {
  std::latch started(1);
  std::latch release(1);
  ThreadPool pool(/*threads=*/1, /*max_queued=*/1);
  ASSERT_TRUE(pool.TrySchedule([&] {
    started.count_down();
    release.wait();
  }));
  started.wait();
  EXPECT_TRUE(pool.TrySchedule([] {}));
  EXPECT_FALSE(pool.TrySchedule([] {}));
  release.count_down();
}

TEST(ThreadPool, ATaskMayScheduleAnother) {
  std::latch done(1);
  ThreadPool pool(/*threads=*/1, /*max_queued=*/1);
  ASSERT_TRUE(pool.TrySchedule([&] { EXPECT_TRUE(pool.TrySchedule([&] { done.count_down(); })); }));
  done.wait();
}

}  // namespace
}  // namespace galen
