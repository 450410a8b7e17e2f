#include "common/base/json_depth.h"

#include <gtest/gtest.h>

#include <string>

namespace galen {
namespace {

TEST(JsonDepth, CountsBracketsOutsideOfStrings) {
  EXPECT_FALSE(JsonNestsDeeperThan("", 0));
  EXPECT_FALSE(JsonNestsDeeperThan("7", 0));
  EXPECT_TRUE(JsonNestsDeeperThan("[]", 0));
  EXPECT_FALSE(JsonNestsDeeperThan(R"({"a": [1, {"b": 2}], "c": [[]]})", 3));
  EXPECT_TRUE(JsonNestsDeeperThan(R"({"a": [1, {"b": 2}], "c": [[]]})", 2));
  EXPECT_FALSE(JsonNestsDeeperThan(R"(["[[[[", "\"[[[[", "\\"])", 1));
  EXPECT_TRUE(JsonNestsDeeperThan(R"(["\\", [1]])", 1));
  EXPECT_TRUE(JsonNestsDeeperThan(std::string(1'000'000, '['), 64));
  EXPECT_FALSE(JsonNestsDeeperThan(std::string(1'000'000, ']'), 64));
}

}  // namespace
}  // namespace galen
