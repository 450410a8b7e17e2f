#include "bench/eval/metrics/calibration.h"

#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace galen::eval {
namespace {

TEST(Calibration, ABeliefThatComesTrueAsOftenAsItSaysHasNoError) {
  std::vector<Belief> beliefs;
  for (int i = 0; i < 10; ++i) beliefs.push_back({0.7, i < 7});
  const v1::Calibration calibration = Calibrate(beliefs);
  EXPECT_EQ(calibration.verdicts(), 10);
  EXPECT_NEAR(calibration.error(), 0, 1e-12);
}

TEST(Calibration, WeighsEachBinByItsVerdicts) {
  // Three at 0.95, all wrong; one at 0.25, right.
  const std::vector<Belief> beliefs = {{0.95, false}, {0.95, false}, {0.95, false}, {0.25, true}};
  const v1::Calibration calibration = Calibrate(beliefs);
  EXPECT_NEAR(calibration.error(), 0.75 * 0.95 + 0.25 * 0.75, 1e-12);
  ASSERT_EQ(calibration.bins_size(), kCalibrationBins);
  EXPECT_EQ(calibration.bins(9).verdicts(), 3);
  EXPECT_NEAR(calibration.bins(9).confidence(), 0.95, 1e-12);
  EXPECT_EQ(calibration.bins(9).right(), 0);
  EXPECT_EQ(calibration.bins(2).right(), 1);
  EXPECT_EQ(calibration.bins(5).verdicts(), 0);
}

TEST(Calibration, TheEndsOfTheScaleAreInItsFirstAndLastBin) {
  const v1::Calibration calibration =
      Calibrate(std::vector<Belief>{{0, false},
                                    {1, true},
                                    {-3, false},
                                    {7, true},
                                    {std::numeric_limits<double>::quiet_NaN(), false}});
  EXPECT_EQ(calibration.bins(0).verdicts(), 3);
  EXPECT_EQ(calibration.bins(9).verdicts(), 2);
  EXPECT_NEAR(calibration.error(), 0, 1e-12);
}

TEST(Calibration, OfNothingIsNothing) {
  EXPECT_EQ(Calibrate({}).verdicts(), 0);
  EXPECT_EQ(Calibrate({}).error(), 0);
}

}  // namespace
}  // namespace galen::eval
