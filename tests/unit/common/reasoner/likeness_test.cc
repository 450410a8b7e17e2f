// Claims about the causes that the words of a report suggest.
#include "common/reasoner/likeness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cases.h"

namespace galen::reasoner {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kSlow[] = "MAIN.SUB.SLOW";
constexpr char kLost[] = "MAIN.SUB.LOST";

knowledge::Knowledge Known() {
  testing::KnowledgeBuilder book;
  book.Leaf(kSlow).Leaf(kLost);
  for (const char* other : {"MAIN.SUB.A", "MAIN.SUB.B", "MAIN.SUB.C", "MAIN.SUB.D"}) {
    book.Leaf(other).Told(other, {"something else entirely happens here"});
  }
  book.Told(kSlow, {"every step takes twice as long since Monday", "throughput halved"});
  book.Told(kLost, {"one card is missing after the reboot", "nvidia-smi lists seven of eight"});
  return book.Make();
}

double WeightOf(const Likeness& likeness, const std::string& leaf) {
  const auto found = likeness.find(leaf);
  return found == likeness.end() ? 0 : found->second.weight;
}

TEST(Likeness, TheCauseThatPeopleTellOfInSuchWordsIsLikelier) {
  const LikenessIndex index(Known());
  const auto alike = index.Of("Since the reboot a card is missing, nvidia-smi shows seven.", "");
  EXPECT_GT(WeightOf(*alike, kLost), WeightOf(*alike, kSlow));
  EXPECT_EQ(alike->at(kLost).told, "one card is missing after the reboot");
}

TEST(Likeness, WordsThatNobodyUsesOfAnyCauseSayNothing) {
  const LikenessIndex index(Known());
  EXPECT_THAT(*index.Of("zzz qqq", ""), IsEmpty());
  EXPECT_THAT(*index.Of("", ""), IsEmpty());
}

TEST(Likeness, MessagesSpeakWhereAPersonSaysNothing) {
  const LikenessIndex index(Known());
  const auto alike = index.Of("zzz", "throughput halved, every step takes twice as long");
  EXPECT_GT(WeightOf(*alike, kSlow), WeightOf(*alike, kLost));
  EXPECT_THAT(*index.Of("zzz", ""), IsEmpty());
}

TEST(Likeness, TheTitleWeighsMoreThanTheRest) {
  const LikenessIndex index(Known());
  const std::string slow = "every step takes twice as long since Monday";
  const std::string lost = "one card is missing after the reboot";
  const auto titled_slow = index.Of(slow + "\n\n" + lost + "\nzzz", "");
  const auto titled_lost = index.Of(lost + "\n\n" + slow + "\nzzz", "");
  EXPECT_GT(WeightOf(*titled_slow, kSlow), WeightOf(*titled_lost, kSlow));
  EXPECT_GT(WeightOf(*titled_lost, kLost), WeightOf(*titled_slow, kLost));
}

TEST(Likeness, ALongFirstLineALoneLineAndOneWithoutAnEmptyLineAreNotTitles) {
  const LikenessIndex index(Known());
  const std::string lost = "one card is missing after the reboot";
  EXPECT_EQ(WeightOf(*index.Of(lost, ""), kLost), WeightOf(*index.Of(lost + "\n \n", ""), kLost));
  const std::string wide(200, ' ');
  const double titled = WeightOf(*index.Of(lost + "\n\nthroughput halved", ""), kLost);
  EXPECT_LT(WeightOf(*index.Of(lost + wide + "\n\nthroughput halved", ""), kLost), titled);
  EXPECT_LT(WeightOf(*index.Of(lost + "\nthroughput halved", ""), kLost), titled);
}

TEST(Likeness, TheWordsOfAPersonMayReadLikeAReportWhenNothingIsWrong) {
  testing::KnowledgeBuilder book;
  book.Leaf(kSlow).Leaf(kLost);
  book.Told(kSlow, {"every step takes twice as long since Monday"});
  book.Told(kLost, {"one card is missing after the reboot"});
  book.Told("NOTHING_WRONG", {"is this warning normal, training goes on at its usual speed"});
  const LikenessIndex index(book.Make());
  const std::string harmless = "Training goes on at its usual speed. Is the warning normal?";
  EXPECT_GT(WeightOf(*index.Of(harmless, ""), "NOTHING_WRONG"), 0);
  EXPECT_LE(WeightOf(*index.Of("One card is missing after a reboot.", ""), "NOTHING_WRONG"), 0);
  EXPECT_THAT(index.MostLike(harmless, 9), Not(Contains("NOTHING_WRONG")));
  EXPECT_EQ(WeightOf(*index.Of("zzz", harmless), "NOTHING_WRONG"), 0)
      << "a log does not say that nothing is wrong";
}

TEST(Likeness, WithoutLeavesThereIsNone) {
  EXPECT_THAT(*LikenessIndex(testing::KnowledgeBuilder().Make()).Of("a card is missing", ""),
              IsEmpty());
}

TEST(Likeness, TheOrderOfTheQuestionsDoesNotMatter) {
  const LikenessIndex index(Known());
  const auto first = index.Of("throughput halved", "");
  index.Of("a card is missing", "");
  EXPECT_EQ(WeightOf(*index.Of("throughput halved", ""), kSlow), WeightOf(*first, kSlow));
  EXPECT_THAT(*first, Not(IsEmpty()));
}

}  // namespace
}  // namespace galen::reasoner
