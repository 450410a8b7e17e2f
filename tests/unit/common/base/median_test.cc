#include "common/base/median.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

TEST(Median, IsTheMiddleOrTheMeanOfBothInTheMiddle) {
  EXPECT_EQ(Median({5}), 5);
  EXPECT_EQ(Median({9, 1, 5}), 5);
  EXPECT_EQ(Median({9, 1, 5, 2}), 3.5);
  EXPECT_EQ(Median({}), 0);
}

}  // namespace
}  // namespace galen
