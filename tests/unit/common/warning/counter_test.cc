// Claims about what a counter's readings say.
#include "common/warning/counter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace galen::warning {
namespace {

TEST(Counter, TheFirstReadingSaysNothingOfGrowth) {
  Counter counter;
  EXPECT_TRUE(std::isnan(counter.Add(1e6, 1)));
  EXPECT_EQ(counter.Add(1e6 + 3, 2), 3);
}

TEST(Counter, AfterAResetItGrewByWhatItHasCountedSince) {
  Counter counter;
  counter.Add(1000, 1);
  EXPECT_EQ(counter.Add(7, 2), 7);
  EXPECT_EQ(counter.Add(7, 3), 0);
}

TEST(Counter, AMissingReadingIsUnknownAndItsGrowthIsSpreadOverTheGap) {
  Counter counter;
  counter.Add(10, 1);
  EXPECT_TRUE(std::isnan(counter.Add(std::numeric_limits<double>::quiet_NaN(), 2)));
  EXPECT_TRUE(std::isnan(counter.Add(-1, 3)));
  EXPECT_EQ(counter.Add(22, 4), 4);
}

TEST(Counter, AfterALongGapNothingIsKnownOfItsGrowth) {
  Counter counter;
  counter.Add(10, 1);
  EXPECT_TRUE(std::isnan(counter.Add(1e9, 61)));
  EXPECT_EQ(counter.Add(1e9, 62), 0);
}

TEST(Counter, ReadingsThatComeTwiceOrLateAreNone) {
  Counter counter;
  counter.Add(10, 5);
  EXPECT_TRUE(std::isnan(counter.Add(20, 5)));
  EXPECT_TRUE(std::isnan(counter.Add(20, 4)));
  EXPECT_EQ(counter.Add(20, 6), 10);
}

// Large counters outgrow a float: the growth must not.
TEST(Counter, ALargeCounterStillCountsOnes) {
  Counter counter;
  counter.Add(54.7e9, 1);
  EXPECT_EQ(counter.Add(54.7e9 + 1, 2), 1);
}

}  // namespace
}  // namespace galen::warning
