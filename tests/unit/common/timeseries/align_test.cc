// Samples onto one axis: unknown stays unknown, counters become rates.
#include "common/timeseries/align.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace galen::timeseries {
namespace {

using galen::testing::IsOk;
using galen::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;
using ::testing::IsNan;

Grid Seconds(int begin, int end, int step = 1) {
  return *MakeGrid(absl::FromUnixSeconds(begin), absl::FromUnixSeconds(end), absl::Seconds(step));
}

Sample At(int second, double value) { return {second * 1000LL, value}; }

TEST(GridTest, HasBothEnds) {
  const Grid grid = Seconds(0, 60, 15);
  EXPECT_EQ(grid.size, 5U);
  EXPECT_EQ(grid.At(4), absl::FromUnixSeconds(60));
  EXPECT_EQ(Seconds(0, 59, 15).size, 4U);
}

TEST(GridTest, RefusesWhatIsNoAxis) {
  const absl::Time start = absl::FromUnixSeconds(1000);
  EXPECT_THAT(MakeGrid(start, start - absl::Seconds(1), absl::Seconds(1)),
              StatusIs(absl::StatusCode::kInvalidArgument, _));
  EXPECT_THAT(MakeGrid(start, absl::InfiniteFuture(), absl::Seconds(1)),
              StatusIs(absl::StatusCode::kInvalidArgument, _));
  EXPECT_THAT(MakeGrid(start, start + absl::Hours(1), absl::ZeroDuration()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("step")));
  EXPECT_THAT(MakeGrid(start, start + absl::Hours(24 * 365), absl::Milliseconds(1)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("longer step")));
}

TEST(AlignTest, ASampleSpeaksForALittleWhileAndThenNothingIsKnown) {
  const std::vector<Sample> samples = {At(2, 7), At(3, 8)};
  const Series series = Align(samples, Seconds(0, 8), {.most_age = absl::Seconds(3)});
  EXPECT_THAT(series.values, ElementsAre(IsNan(), IsNan(), 7, 8, 8, 8, 8, IsNan(), IsNan()));
}

TEST(AlignTest, StaleMarksAndInfinitiesAreUnknown) {
  const std::vector<Sample> samples = {At(0, 1), At(1, std::nan("")), At(2, INFINITY), At(3, 1e300),
                                       At(4, 4)};
  EXPECT_THAT(Align(samples, Seconds(0, 4)).values, ElementsAre(1, IsNan(), IsNan(), IsNan(), 4));
}

TEST(AlignTest, SamplesOutOfOrderArePassedOver) {
  const std::vector<Sample> samples = {At(0, 1), At(3, 3), At(1, 100), At(3, 200), At(4, 4)};
  EXPECT_THAT(Align(samples, Seconds(3, 4)).values, ElementsAre(3, 4));
}

TEST(RateTest, GrowthIsSpreadOverItsTime) {
  const std::vector<Sample> samples = {At(0, 1000), At(10, 1100), At(20, 1100), At(30, 1400)};
  const Rate rate = RateOf(samples, Seconds(10, 30, 10));
  EXPECT_THAT(rate.per_second.values, ElementsAre(FloatEq(10), FloatEq(0), FloatEq(30)));
  EXPECT_EQ(rate.resets, 0U);
}

TEST(RateTest, AResetIsCountedAndNeverNegative) {
  const std::vector<Sample> samples = {At(0, 1e12), At(10, 1e12 + 50), At(20, 30), At(30, 130)};
  const Rate rate = RateOf(samples, Seconds(10, 30, 10));
  EXPECT_THAT(rate.per_second.values, ElementsAre(FloatEq(5), FloatEq(3), FloatEq(10)));
  EXPECT_EQ(rate.resets, 1U);
}

TEST(RateTest, ACounterOf32BitsGoesRound) {
  const std::vector<Sample> samples = {At(0, 4294967200.0), At(10, 104)};
  const Rate rate = RateOf(samples, Seconds(10, 10, 10), {.wraps_at = 4294967296.0});
  EXPECT_THAT(rate.per_second.values, ElementsAre(FloatEq(20)));
  EXPECT_EQ(rate.resets, 0U);
}

TEST(RateTest, AGapIsUnknownAndNotZero) {
  const std::vector<Sample> samples = {At(0, 0), At(10, 10), At(100, 5000), At(110, 5010)};
  const Rate rate = RateOf(samples, Seconds(10, 110, 20), {.most_gap = absl::Seconds(30)});
  EXPECT_THAT(rate.per_second.values,
              ElementsAre(FloatEq(1), IsNan(), IsNan(), IsNan(), IsNan(), FloatEq(1)));
}

TEST(RateTest, NothingIsKnownOfOneSample) {
  const std::vector<Sample> one = {At(5, 100)};
  EXPECT_THAT(RateOf(one, Seconds(0, 10, 5)).per_second.values,
              ElementsAre(IsNan(), IsNan(), IsNan()));
  EXPECT_THAT(RateOf({}, Seconds(0, 10, 5)).per_second.values,
              ElementsAre(IsNan(), IsNan(), IsNan()));
}

// For any times of the samples, the rates of a counter add up to its growth.
TEST(RateTest, RatesAddUpToTheGrowth) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 bits(seed);
    std::vector<Sample> samples;
    std::int64_t at = 0;
    double value = static_cast<double>(bits() % 1000000);
    const double first = value;
    while (at < 600'000) {
      samples.push_back({at, value});
      at += 500 + bits() % 20'000;
      value += bits() % 5000;
    }
    samples.push_back({600'000, value});
    const Grid grid = *MakeGrid(absl::FromUnixSeconds(0) + absl::Seconds(7),
                                absl::FromUnixSeconds(602), absl::Seconds(7));
    const Rate rate = RateOf(samples, grid);
    double sum = 0;
    for (const float per_second : rate.per_second.values)
      sum += std::isnan(per_second) ? 0.0 : per_second * 7.0;
    // The last step reaches two seconds beyond the samples, and their rate applies to it.
    const double rest = rate.per_second.values.back() * 2.0;
    EXPECT_NEAR(sum - rest, value - first, 1e-3 * (value - first)) << "seed " << seed;
  }
}

TEST(BlockMediansTest, ABlockThatIsMostlyUnknownIsUnknown) {
  const std::vector<float> values = {1, 2, 3, kUnknown, kUnknown, 9, 5};
  EXPECT_THAT(BlockMedians(values, 3), ElementsAre(2, IsNan(), 5));
  EXPECT_TRUE(BlockMedians(values, 0).empty());
}

}  // namespace
}  // namespace galen::timeseries
