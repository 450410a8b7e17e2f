#include "common/svg/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::svg {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(SvgTest, ForeignTextsCannotBecomeMarkup) {
  Svg svg;
  svg.Text(1, 2, "<script>&\"\x07", "t");
  svg.Rect(1, 2, 3, 4, "g", "<b>");
  svg.Circle(1, 2, 3, "o", "<i>");
  EXPECT_THAT(svg.Finish(10, 20, "<title>"),
              AllOf(HasSubstr("&lt;script&gt;"), HasSubstr("&amp;&quot;"), HasSubstr("&lt;b&gt;"),
                    HasSubstr("&lt;i&gt;"), HasSubstr("&lt;title&gt;"), Not(HasSubstr("<script>")),
                    Not(HasSubstr("\x07")), Not(HasSubstr("<b>"))));
}

TEST(SvgTest, StandsAloneUnlessAPageHasItsStyle) {
  Svg svg;
  svg.Line(0, 0, 1, 1, "grid");
  EXPECT_THAT(svg.Finish(10, 20, "x"), AllOf(HasSubstr("<style>"), HasSubstr("<rect class=\"p\"")));
  EXPECT_THAT(svg.Finish(10, 20, "x", ""),
              AllOf(Not(HasSubstr("<style>")), Not(HasSubstr("<rect")), HasSubstr("grid")));
}

TEST(SvgTest, AFrameMapsItsEdges) {
  const Frame frame = {10, 20, 100, 50, 0, 4, -1, 1};
  EXPECT_EQ(frame.X(0), 10);
  EXPECT_EQ(frame.X(4), frame.right());
  EXPECT_EQ(frame.Y(1), 20);
  EXPECT_EQ(frame.Y(-1), frame.bottom());
}

}  // namespace
}  // namespace galen::svg
