// Claims about the pictures.
#include "common/perfmodel/picture.h"

#include <cmath>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::perfmodel {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kTera = 1e12;

TEST(Pictures, ARooflineShowsItsPointsAndEscapesTheirNames) {
  const std::string svg =
      RooflineSvg({"H100 <&>", 989 * kTera, 500 * kTera, 3.35 * kTera, 2 * kTera},
                  {RoofPoint{"step \"1\"", 250, 300 * kTera}});
  EXPECT_THAT(svg, HasSubstr("H100 &lt;&amp;&gt;"));
  EXPECT_THAT(svg, HasSubstr("step &quot;1&quot;"));
  EXPECT_THAT(svg, HasSubstr("300 TFLOP/s"));
  EXPECT_THAT(svg, HasSubstr("</svg>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(Pictures, WhatIsNotKnownIsNotDrawn) {
  EXPECT_EQ(RooflineSvg({"x", 0, 1, 1, 1}, {}), "");
  EXPECT_EQ(RooflineSvg({"x", 1, 1, 1, std::nan("")}, {}), "");
  EXPECT_EQ(MixSvg(std::nan("")), "");
}

TEST(Pictures, AMixHasAPanelForEachPairOfResources) {
  const std::string svg = MixSvg(0.9);
  for (const char* panel : {"compute and memory", "interconnect and memory",
                            "interconnect and compute", "overlaps to 90 %"}) {
    EXPECT_THAT(svg, HasSubstr(panel));
  }
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace galen::perfmodel
