#include "bench/eval/metrics/score.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::eval {
namespace score_test {

using testing::ElementsAre;
using Labels = std::vector<std::string>;

v1::Case Answer(const Labels& labels, const Labels& secondary = {}, const Labels& acceptable = {}) {
  v1::Case a_case;
  a_case.mutable_labels()->Assign(labels.begin(), labels.end());
  a_case.mutable_labels_secondary()->Assign(secondary.begin(), secondary.end());
  a_case.mutable_labels_acceptable()->Assign(acceptable.begin(), acceptable.end());
  return a_case;
}

// The first label is the primary cause.
v1::CaseResult Named(const Labels& labels) {
  v1::CaseResult result;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    (i == 0 ? result.mutable_primary() : result.add_others())->set_label(labels[i]);
  }
  return result;
}

struct Row {
  const char* claim;
  v1::Case answer;
  v1::CaseResult result;
  Verdict verdict;
  Counts counts;  // hits, wrong ones, missed ones
};

TEST(ScoreCase, ComparesWhatIsNamedWithTheAnswer) {
  const Row kRows[] = {
      {"the cause", Answer({"A"}), Named({"A"}), Verdict::kRight, {1, 0, 0}},
      {"another cause", Answer({"A"}), Named({"B"}), Verdict::kWrong, {0, 1, 1}},
      {"nothing", Answer({"A"}), Named({}), Verdict::kAbstained, {0, 0, 1}},
      {"the cause and a stranger", Answer({"A"}), Named({"A", "B"}), Verdict::kWrong, {1, 1, 0}},
      {"a stranger and the cause", Answer({"A"}), Named({"B", "A"}), Verdict::kWrong, {1, 1, 0}},
      {"another name", Answer({"A"}, {}, {"B"}), Named({"B"}), Verdict::kRight, {1, 0, 0}},
      {"both names", Answer({"A"}, {}, {"B"}), Named({"B", "A"}), Verdict::kRight, {1, 0, 0}},
      {"an effect as the cause", Answer({"A"}, {"S"}), Named({"S"}), Verdict::kWrong, {0, 1, 1}},
      {"an effect first", Answer({"A"}, {"S"}), Named({"S", "A"}), Verdict::kWrong, {1, 1, 0}},
      {"an effect beside it", Answer({"A"}, {"S"}), Named({"A", "S"}), Verdict::kRight, {1, 0, 0}},
      {"an effect beside another",
       Answer({"A"}, {"S"}),
       Named({"B", "S"}),
       Verdict::kWrong,
       {0, 2, 1}},
      {"both causes", Answer({"A", "B"}), Named({"B", "A"}), Verdict::kRight, {2, 0, 0}},
      {"one of two causes", Answer({"A", "B"}), Named({"A"}), Verdict::kWrong, {1, 0, 1}},
      {"nothing where there is nothing", Answer({}), Named({}), Verdict::kRight, {0, 0, 0}},
      {"something where there is nothing", Answer({}), Named({"A"}), Verdict::kWrong, {0, 1, 0}},
  };
  for (const Row& row : kRows) {
    const CaseScore score = ScoreCase(row.answer, row.result);
    EXPECT_EQ(score.verdict, row.verdict) << row.claim;
    EXPECT_EQ(score.hits.size(), row.counts.true_positives) << row.claim;
    EXPECT_EQ(score.wrong.size(), row.counts.false_positives) << row.claim;
    EXPECT_EQ(score.missed.size(), row.counts.false_negatives) << row.claim;
  }
}

TEST(ScoreCase, AHitIsSpeltAsTheAnswerSpellsIt) {
  EXPECT_THAT(ScoreCase(Answer({"A"}, {}, {"B"}), Named({"B"})).hits, ElementsAre("A"));
}

TEST(ScoreCase, AFailureIsNotRightEvenWhereThereIsNothingToFind) {
  v1::CaseResult failed;
  failed.set_error("no such bundle");
  EXPECT_EQ(ScoreCase(Answer({}), failed).verdict, Verdict::kFailed);
  const CaseScore score = ScoreCase(Answer({"A"}), failed);
  EXPECT_EQ(score.verdict, Verdict::kFailed);
  EXPECT_THAT(score.missed, ElementsAre("A"));
}

TEST(ScoreCase, NoNameOfACauseOutsideTheTaxonomyIsRight) {
  v1::Case outside = Answer({"A"}, {}, {"B"});
  outside.set_outside(true);
  EXPECT_EQ(ScoreCase(outside, Named({})).verdict, Verdict::kRight);
  EXPECT_EQ(ScoreCase(outside, Named({"A"})).verdict, Verdict::kWrong);
  EXPECT_EQ(ScoreCase(outside, Named({"B"})).verdict, Verdict::kWrong);
}

TEST(ScorePrimary, LooksAtThePrimaryCauseAlone) {
  EXPECT_EQ(ScorePrimary(Answer({"A"}), Named({"A", "B"})).verdict, Verdict::kRight);
  EXPECT_EQ(ScorePrimary(Answer({"A"}), Named({"B", "A"})).verdict, Verdict::kWrong);
  EXPECT_EQ(ScorePrimary(Answer({"A", "B"}), Named({"A"})).verdict, Verdict::kRight);
  EXPECT_EQ(ScorePrimary(Answer({}), Named({"A"})).verdict, Verdict::kWrong);
}

TEST(Resample, TheSameSeedGivesTheSameInterval) {
  std::vector<CaseScore> scores;
  for (int i = 0; i < 40; ++i) {
    scores.push_back(ScoreCase(Answer({"A"}), Named({i % 4 == 0 ? "B" : "A"})));
  }
  std::vector<const CaseScore*> all;
  for (const CaseScore& score : scores) all.push_back(&score);
  const F1Intervals once = Resample(all, 5, 200);
  const F1Intervals again = Resample(all, 5, 200);
  EXPECT_EQ(once.micro.low, again.micro.low);
  EXPECT_EQ(once.macro.high, again.macro.high);
  EXPECT_LT(once.micro.low, once.micro.high);
}

TEST(Resample, OfCertaintyIsCertain) {
  const CaseScore score = ScoreCase(Answer({"A"}), Named({"A"}));
  const std::vector<const CaseScore*> all(9, &score);
  const F1Intervals intervals = Resample(all, 1, 50);
  EXPECT_EQ(intervals.micro.low, 1);
  EXPECT_EQ(intervals.macro.high, 1);
}

TEST(Resample, OfNothingIsNothing) { EXPECT_EQ(Resample({}, 1, 10).micro.high, 0); }

TEST(Counts, OfNothingAreNothing) {
  EXPECT_EQ(Counts().Precision(), 0);
  EXPECT_EQ(Counts().Recall(), 0);
  EXPECT_EQ(Counts().F1(), 0);
}

TEST(Counts, GivePrecisionRecallAndTheirHarmonicMean) {
  const Counts counts{6, 2, 4};
  EXPECT_DOUBLE_EQ(counts.Precision(), 0.75);
  EXPECT_DOUBLE_EQ(counts.Recall(), 0.6);
  EXPECT_DOUBLE_EQ(counts.F1(), 2 * 0.75 * 0.6 / (0.75 + 0.6));
}

TEST(ScoreLeaves, MicroWeighsCasesAndMacroLeaves) {
  // A three times right, B once taken for C: C was never true and still counts as a leaf.
  std::vector<CaseScore> scores;
  for (int i = 0; i < 3; ++i) scores.push_back(ScoreCase(Answer({"A"}), Named({"A"})));
  scores.push_back(ScoreCase(Answer({"B"}), Named({"C"})));
  scores.push_back(ScoreCase(Answer({}), Named({})));
  std::vector<const CaseScore*> all;
  for (const CaseScore& score : scores) all.push_back(&score);

  const F1Scores f1 = ScoreLeaves(all);

  EXPECT_EQ(f1.cases, 5);
  EXPECT_EQ(f1.leaves, 3);
  EXPECT_DOUBLE_EQ(f1.micro.F1(), 0.75);
  EXPECT_DOUBLE_EQ(f1.macro, 1.0 / 3);
}

TEST(ScoreLeaves, OfNoCasesAreZero) {
  const F1Scores f1 = ScoreLeaves({});
  EXPECT_EQ(f1.cases, 0);
  EXPECT_EQ(f1.micro.F1(), 0);
  EXPECT_EQ(f1.macro, 0);
}

TEST(MainCategory, IsTheFirstPartOfALabel) {
  EXPECT_EQ(MainCategory("GPU.MEMORY.SRAM_ECC"), "GPU");
  EXPECT_EQ(MainCategory("OTHER"), "OTHER");
}

}  // namespace score_test
}  // namespace galen::eval
