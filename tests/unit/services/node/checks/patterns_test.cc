#include "services/node/checks/patterns.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "re2/re2.h"

namespace galen::node {
namespace {

TEST(CompiledPattern, IsCompiledOnceForTheSameText) {
  const auto first = CompiledPattern("a+b");
  EXPECT_EQ(first, CompiledPattern("a+b"));
  EXPECT_NE(first, CompiledPattern("a+c"));
  EXPECT_TRUE(RE2::PartialMatch("caab", *first));
}

TEST(CompiledPattern, SaysThatATextIsNoPattern) { EXPECT_FALSE(CompiledPattern("a(")->ok()); }

TEST(PatternSet, FindsTheFirstInTheOrderGivenHoweverManyMatch) {
  const auto set = PatternSet::Of(std::vector<std::string>{"out of memory", "memory", "o"});
  EXPECT_EQ(set->First("CUDA out of memory"), 0);
  EXPECT_EQ(set->First("no memory"), 1);
  EXPECT_EQ(set->First("on"), 2);
  EXPECT_EQ(set->First("fine"), -1);
  EXPECT_EQ(set->First(""), -1);
}

TEST(PatternSet, KeepsThePlacesOfTheOthersWhenOneDoesNotCompile) {
  const auto set = PatternSet::Of(std::vector<std::string>{"a(", "b"});
  EXPECT_EQ(set->First("a( b"), 1);
  EXPECT_EQ(set->First("a("), -1);
}

TEST(PatternSet, IsTheSameOneForTheSamePatternsInTheSameOrderOnly) {
  const std::vector<std::string> one = {"1:a", "b"};
  const std::vector<std::string> other = {"1", "a1:b"};
  EXPECT_EQ(PatternSet::Of(one), PatternSet::Of(one));
  EXPECT_NE(PatternSet::Of(one), PatternSet::Of(other));
  EXPECT_EQ(PatternSet::Of({})->First("a"), -1);
}

}  // namespace
}  // namespace galen::node
