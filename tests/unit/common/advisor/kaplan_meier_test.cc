#include "common/advisor/kaplan_meier.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace galen::advisor {
namespace {

// Weeks of remission of those treated in Freireich's trial of 6-mercaptopurine (Blood, 1963).
const std::vector<Life> kRemissions = {
    {6, true},   {6, true},   {6, true},   {6, false},  {7, true},   {9, false},  {10, true},
    {10, false}, {11, false}, {13, true},  {16, true},  {17, false}, {19, false}, {20, false},
    {22, true},  {23, true},  {25, false}, {32, false}, {32, false}, {34, false}, {35, false}};
TEST(KaplanMeier, IsThatOfTheTextbooks) {
  const std::vector<CurvePoint> curve = KaplanMeier(kRemissions);
  const std::vector<std::pair<double, double>> expected = {
      {6, 0.857}, {7, 0.807}, {10, 0.753}, {13, 0.690}, {16, 0.627}, {22, 0.538}, {23, 0.448}};
  ASSERT_EQ(curve.size(), expected.size());
  for (std::size_t i = 0; i < curve.size(); ++i) {
    EXPECT_EQ(curve[i].hours, expected[i].first);
    EXPECT_NEAR(curve[i].surviving, expected[i].second, 5e-4);
    EXPECT_LT(curve[i].low, curve[i].surviving);
    EXPECT_GT(curve[i].high, curve[i].surviving);
  }
}

TEST(KaplanMeier, OfNobodyIsEmptyAndOfWhoAllFailEndsAtZero) {
  EXPECT_TRUE(KaplanMeier(std::vector<Life>()).empty());
  const std::vector<CurvePoint> curve = KaplanMeier({{1, true}, {2, true}});
  EXPECT_EQ(curve.back().surviving, 0);
}

}  // namespace
}  // namespace galen::advisor
