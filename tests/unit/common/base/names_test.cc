#include "common/base/names.h"

#include <gtest/gtest.h>

#include <string>

namespace galen {
namespace {

TEST(Names, ASegmentIsShortAndOfLowerCaseLettersDigitsAndHyphens) {
  EXPECT_TRUE(IsSegment("tenant-1"));
  EXPECT_TRUE(IsSegment(std::string(63, 'a')));
  EXPECT_FALSE(IsSegment(std::string(64, 'a')));
  for (const char* const text : {"", "Tenant", "a/b", "a_b", "a.b", "a b", "\xc3\xa4", "a\n"}) {
    EXPECT_FALSE(IsSegment(text)) << text;
  }
}

}  // namespace
}  // namespace galen
