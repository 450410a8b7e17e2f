#include "common/base/hot_swap.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"

namespace galen {
namespace {

TEST(HotSwap, CopiesShareWhatIsCurrent) {
  HotSwap<int> one(std::make_shared<const int>(1));
  const HotSwap<int> copy = one;
  one.Set(std::make_shared<const int>(2));
  EXPECT_EQ(*copy.Get(), 2);
  EXPECT_EQ(*copy.Before(), 1);
}

TEST(HotSwap, WhoeverGotAValueKeepsIt) {
  HotSwap<std::string> current(std::make_shared<const std::string>("first"));
  const std::shared_ptr<const std::string> held = current.Get();
  for (const char* next : {"second", "third", "fourth"}) {
    current.Set(std::make_shared<const std::string>(next));
  }
  EXPECT_EQ(*held, "first");
  EXPECT_EQ(held.use_count(), 1) << "nobody else keeps it";
}

TEST(HotSwap, AValueThatIsNeverReplacedIsPassedAsItIs) {
  const int value = 7;
  const HotSwap<int> current = value;
  EXPECT_EQ(current.Get().get(), &value);
  EXPECT_EQ(current.Before(), nullptr);
}

TEST(HotSwap, IsReplacedWhileOthersRead) {
  HotSwap<std::vector<int>> current(std::make_shared<const std::vector<int>>(100, 0));
  std::atomic<bool> stop = false;
  std::vector<std::thread> readers;
  std::atomic<int> torn = 0;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        const auto value = current.Get();
        if (value->front() != value->back()) ++torn;
      }
    });
  }
  for (int n = 1; n < 2000; ++n) current.Set(std::make_shared<const std::vector<int>>(100, n));
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(current.Get()->front(), 1999);
}

absl::StatusOr<int> Even(int value) {
  if (value % 2 == 0) return value;
  return absl::InvalidArgumentError("odd");
}

TEST(CallWithFallback, AsksTheOneBeforeWhereTheNewestDoesNotKnow) {
  HotSwap<int> current(std::make_shared<const int>(2));
  EXPECT_EQ(*CallWithFallback(current, Even), 2);
  current.Set(std::make_shared<const int>(3));
  EXPECT_EQ(*CallWithFallback(current, Even), 2);
  current.Set(std::make_shared<const int>(5));
  EXPECT_EQ(CallWithFallback(current, Even).status(), absl::InvalidArgumentError("odd"));
}

TEST(CallWithFallback, LeavesOtherErrorsAsTheyAre) {
  HotSwap<int> current(std::make_shared<const int>(1));
  current.Set(std::make_shared<const int>(2));
  int asked = 0;
  const auto refuse = [&](int) -> absl::StatusOr<int> {
    ++asked;
    return absl::UnavailableError("busy");
  };
  EXPECT_TRUE(absl::IsUnavailable(CallWithFallback(current, refuse).status()));
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace galen
