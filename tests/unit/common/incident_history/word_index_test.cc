#include "common/incident_history/word_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::incident_history {
namespace {

using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::IsEmpty;

TEST(WordIndex, ARareWordWeighsMoreThanOneThatAllHave) {
  const std::vector<std::vector<std::uint64_t>> texts = {{1, 2}, {1, 3}, {1, 4}};
  const WordIndex index(texts);
  const std::vector<double> scores = index.Scores({1, 3});
  EXPECT_GT(scores[1], scores[0]);
  EXPECT_EQ(scores[0], scores[2]);
}

TEST(WordIndex, AWordThatIsAskedTwiceCountsOnce) {
  const std::vector<std::vector<std::uint64_t>> texts = {{1}, {2}};
  const WordIndex index(texts);
  EXPECT_EQ(index.Scores({1, 1, 1}), index.Scores({1}));
  EXPECT_EQ(index.Known({1, 1, 9}), 1);
}

TEST(WordIndex, NoWordOrNoTextScoresNothing) {
  const std::vector<std::vector<std::uint64_t>> texts = {{}, {2}};
  EXPECT_THAT(WordIndex(texts).Scores({}), ElementsAre(0, 0));
  EXPECT_THAT(WordIndex(texts).Scores({2}), ElementsAre(0, Gt(0)));
  EXPECT_THAT(WordIndex().Scores({1, 2}), IsEmpty());
  EXPECT_EQ(WordIndex().Known({1}), 0);
}

}  // namespace
}  // namespace galen::incident_history
