#include "bench/eval/metrics/wilson.h"

#include "gtest/gtest.h"

namespace galen::eval {
namespace {

// R. G. Newcombe, "Two-sided confidence intervals for the single proportion", 1998, table I,
// method 3.
TEST(Wilson, GivesThePublishedIntervals) {
  const Share share = WilsonShare(81, 263);
  EXPECT_NEAR(share.low, 0.2553, 5e-5);
  EXPECT_NEAR(share.high, 0.3662, 5e-5);
  EXPECT_NEAR(WilsonShare(15, 148).low, 0.0624, 5e-5);
  EXPECT_NEAR(WilsonShare(15, 148).high, 0.1605, 5e-5);
  EXPECT_NEAR(WilsonShare(0, 20).high, 0.1611, 5e-5);
  EXPECT_NEAR(WilsonShare(1, 29).high, 0.1718, 5e-5);
}

TEST(Wilson, OfNothingSaysNothing) {
  EXPECT_EQ(WilsonShare(0, 0).low, 0);
  EXPECT_EQ(WilsonShare(0, 0).high, 1);
}

}  // namespace
}  // namespace galen::eval
