#include "common/log_analysis/scan/filter_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace galen::log_scan {
namespace {

using ::testing::ElementsAre;

TEST(FilterTexts, AreTheSameFromTheCache) {
  const std::string directory = ::testing::TempDir() + "/filter_texts";
  std::filesystem::remove_all(directory);
  const std::vector<Expression> expressions = {
      {"Out of memory: Killed", "a"}, {"[0-9]+", "b"}, {"(?i)Evicted|OOMKilled", "c"}, {"x", "d"}};
  for (int round = 0; round < 2; ++round) {
    const FilterTexts found = FindFilterTexts(expressions, 5, directory);
    EXPECT_THAT(found.without, ElementsAre(1, 3));
    EXPECT_THAT(found.texts,
                ::testing::UnorderedElementsAre("out of memory: killed", "evicted", "oomkilled"));
  }
  EXPECT_FALSE(std::filesystem::is_empty(directory));
}

TEST(FilterTexts, ExpressionsInAnotherOrderAreOtherExpressions) {
  const std::string directory = ::testing::TempDir() + "/filter_texts_order";
  std::filesystem::remove_all(directory);
  EXPECT_THAT(
      FindFilterTexts(std::vector<Expression>{{"[0-9]", ""}, {"abcdef", ""}}, 5, directory).without,
      ElementsAre(0));
  EXPECT_THAT(
      FindFilterTexts(std::vector<Expression>{{"abcdef", ""}, {"[0-9]", ""}}, 5, directory).without,
      ElementsAre(1));
}

}  // namespace
}  // namespace galen::log_scan
