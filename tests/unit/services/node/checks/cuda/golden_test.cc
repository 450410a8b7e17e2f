#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "services/node/checks/cuda/gputest/golden.h"

namespace galen::node::cuda {
namespace {

TEST(KernelMath, LanesStayFiniteAndDoNotSettle) {
  for (unsigned number = 0; number < kLanes; ++number) {
    Lane lane = StartLane(kHashFactor, number);
    std::set<unsigned> seen;
    for (int step = 0; step < 2048; ++step) {
      StepLane(lane);
      ASSERT_TRUE(LaneIsFinite(lane));
      ASSERT_GT(lane.x, 0);
      ASSERT_LT(lane.x, 1);
      seen.insert(FloatBits(lane.x));
    }
    // With 24 bits to be in, it comes around some day; not soon.
    EXPECT_GT(seen.size(), 200U) << "lane " << number;
  }
}

TEST(KernelMath, OneWrongBitAnywhereChangesTheBlocksHash) {
  const unsigned long long right = ExpectedCompute(7, 4);
  EXPECT_EQ(ExpectedCompute(7, 4), right);
  EXPECT_NE(ExpectedCompute(8, 4), right);
  Lane lane = StartLane(7, 3);
  Lane flipped = lane;
  flipped.x = __builtin_nextafterf(flipped.x, 1);
  for (int step = 0; step < 64; ++step) {
    StepLane(lane);
    StepLane(flipped);
  }
  EXPECT_NE(lane.hash, flipped.hash);
}

TEST(KernelMath, NotANumberIsNotFinite) {
  EXPECT_FALSE(LaneIsFinite({__builtin_nanf(""), 0.5, 0}));
  EXPECT_FALSE(LaneIsFinite({0.5F, __builtin_inf(), 0}));
  EXPECT_TRUE(LaneIsFinite({0.5F, 0.5, 0}));
}

TEST(KernelMath, TensorSumsAreExactInSinglePrecision) {
  // |element| <= 2, 16 products a tile, 4 pairs a sum, 4096 rounds: below 2^24.
  for (unsigned i = 0; i < 10000; ++i) ASSERT_LE(std::abs(TileElement(i, 11)), 2);
  EXPECT_LT(2 * 2 * kTile * (kTilePairs / 2) * 4096, 1U << 24);
  EXPECT_NE(ExpectedTensor(11, 12, 512), ExpectedTensor(11, 12, 511));
}

TEST(KernelMath, MatrixElementsLieWithinMinusOneAndOneAndDiffer) {
  std::set<unsigned> seen;
  for (unsigned i = 0; i < 10000; ++i) {
    const float value = RandomElement(i, 21);
    ASSERT_GE(value, -1);
    ASSERT_LT(value, 1);
    seen.insert(FloatBits(value));
  }
  EXPECT_GT(seen.size(), 9900U);
}

}  // namespace
}  // namespace galen::node::cuda
