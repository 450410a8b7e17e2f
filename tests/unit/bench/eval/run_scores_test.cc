#include "bench/eval/metrics/run_scores.h"

#include <google/protobuf/util/message_differencer.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::eval {
namespace {

using testing::ElementsAre;

// A run of cases; each is added with its answer and outcome.
class RunScoresTest : public testing::Test {
 protected:
  v1::CaseResult& Add(const std::vector<std::string>& labels, const std::string& named,
                      const std::string& origin = "TAXONOMY", double confidence = 0.9) {
    v1::Case& a_case = cases_.emplace_back();
    a_case.set_id("case-" + std::to_string(cases_.size()));
    a_case.mutable_labels()->Assign(labels.begin(), labels.end());
    v1::CaseResult& result = results_.emplace_back();
    result.set_id(a_case.id());
    result.set_strategy("tiered");
    result.set_mode("plain");
    if (!named.empty()) {
      result.mutable_primary()->set_label(named);
      result.mutable_primary()->set_origin(origin);
      result.mutable_primary()->set_probability(confidence);
    }
    return result;
  }

  v1::Scores Score(std::int64_t seed = 1) const {
    std::vector<CaseScore> scores;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      scores.push_back(ScoreCase(cases_[i], results_[i]));
    }
    return ScoreRun(cases_, results_, scores, seed);
  }

  std::vector<v1::Case> cases_;
  std::vector<v1::CaseResult> results_;
};

// Solved without a question; by the first answer; by the second; never; wrongly.
TEST_F(RunScoresTest, CountsWhatQuestionsBrought) {
  const auto add = [&](const std::vector<std::string>& stood) {
    v1::CaseResult& result = Add({"GPU.A"}, stood.back());
    for (const std::string& named : stood) {
      v1::DialogueRound& round = *result.add_rounds();
      if (&named != &stood.front()) {
        round.add_asked("q");
        round.set_answered(1);
      }
      if (named.empty()) continue;
      round.mutable_primary()->set_label(named);
      round.mutable_primary()->set_presumed(named == "GPU.P");
    }
  };
  add({"GPU.A"});
  add({"", "GPU.A"});
  add({"GPU.P", "", "GPU.A"});
  add({"", "", ""});
  add({"", "NET.B"});
  Add({"GPU.A"}, "");  // no customer answered
  const v1::DialogueScores dialogue = Score().dialogue();
  EXPECT_EQ(dialogue.cases(), 5);
  EXPECT_EQ(dialogue.open(), 4);
  EXPECT_THAT(dialogue.solved(), ElementsAre(1, 2));
  EXPECT_THAT(dialogue.wrong(), ElementsAre(1, 1));
  EXPECT_EQ(dialogue.questions(), 6);
  EXPECT_EQ(dialogue.answered(), 6);
}

TEST_F(RunScoresTest, CountsWhatCameOut) {
  Add({"GPU.A"}, "GPU.A");
  Add({"GPU.A"}, "NET.B");
  Add({"NET.B"}, "");
  Add({}, "");
  Add({}, "GPU.A");
  Add({"NET.B"}, "").set_error("no such bundle");
  const v1::Scores run = Score();
  EXPECT_EQ(run.strategy(), "tiered");
  EXPECT_EQ(run.mode(), "plain");
  EXPECT_EQ(run.cases(), 6);
  EXPECT_EQ(run.with_cause(), 4);
  EXPECT_EQ(run.right(), 2);
  EXPECT_EQ(run.wrong(), 2);
  EXPECT_EQ(run.abstained(), 1);
  EXPECT_EQ(run.failed(), 1);
  EXPECT_EQ(run.convicted_wrongly(), 2);
  EXPECT_EQ(run.without_cause(), 2);
  EXPECT_EQ(run.convicted_without_cause(), 1);
  ASSERT_EQ(run.lines_size(), 6);
  EXPECT_EQ(run.lines(1).verdict(), "wrong");
  EXPECT_THAT(run.lines(1).named(), ElementsAre("NET.B"));
}

TEST_F(RunScoresTest, WhatIsPresumedIsWrongButConvictsNobody) {
  Add({}, "GPU.A").mutable_primary()->set_presumed(true);
  const v1::Scores run = Score();
  EXPECT_EQ(run.wrong(), 1);
  EXPECT_EQ(run.convicted_wrongly(), 0);
}

TEST_F(RunScoresTest, ACauseOutsideTheTaxonomyIsRightWhenNothingIsNamed) {
  Add({"GPU.NEW"}, "");
  Add({"GPU.NEW"}, "GPU.A");
  for (v1::Case& a_case : cases_) a_case.set_outside(true);
  const v1::Scores run = Score();
  EXPECT_EQ(run.with_cause(), 0);
  EXPECT_EQ(run.right(), 1);
  EXPECT_EQ(run.convicted_without_cause(), 1);
}

TEST_F(RunScoresTest, MainCategoriesStandApart) {
  Add({"GPU.A"}, "GPU.A");
  Add({"GPU.B"}, "GPU.A");
  Add({"NET.C"}, "GPU.A");
  const v1::Scores run = Score();
  ASSERT_EQ(run.categories_size(), 2);
  const v1::CategoryScores& gpu = run.categories(0);
  EXPECT_EQ(gpu.main(), "GPU");
  EXPECT_EQ(gpu.cases(), 2);
  EXPECT_DOUBLE_EQ(gpu.precision(), 1.0 / 3);
  EXPECT_DOUBLE_EQ(gpu.recall(), 0.5);
  EXPECT_DOUBLE_EQ(gpu.main_accuracy(), 1);
  EXPECT_EQ(run.categories(1).main(), "NET");
  EXPECT_EQ(run.categories(1).recall(), 0);
  EXPECT_DOUBLE_EQ(run.main_accuracy(), 2.0 / 3);
}

TEST_F(RunScoresTest, MisleadingAndPlainCasesStandApart) {
  Add({"GPU.A"}, "GPU.A");
  Add({"GPU.A"}, "");
  Add({"GPU.A"}, "");
  cases_[0].set_misleading(true);
  cases_[1].set_misleading(false);
  const v1::Scores run = Score();
  EXPECT_EQ(run.misleading().cases(), 1);
  EXPECT_DOUBLE_EQ(run.misleading().micro_f1(), 1);
  EXPECT_EQ(run.straight().cases(), 1);
  EXPECT_DOUBLE_EQ(run.straight().micro_f1(), 0);
}

TEST_F(RunScoresTest, PipelinesAddUpInTheOrderOfTheSearch) {
  Add({"GPU.A"}, "GPU.A", "CRITIQUE");
  Add({"GPU.A"}, "GPU.A", "HISTORY");
  Add({"GPU.A"}, "GPU.A", "TAXONOMY");
  Add({"GPU.A"}, "GPU.B", "TAXONOMY");
  const v1::Scores run = Score();
  ASSERT_EQ(run.pipelines_size(), 3);
  EXPECT_EQ(run.pipelines(0).origin(), "HISTORY");
  EXPECT_DOUBLE_EQ(run.pipelines(0).cumulative(), 0.25);
  EXPECT_EQ(run.pipelines(1).origin(), "TAXONOMY");
  EXPECT_DOUBLE_EQ(run.pipelines(1).cumulative(), 0.5);
  EXPECT_EQ(run.pipelines(2).origin(), "CRITIQUE");
  EXPECT_DOUBLE_EQ(run.pipelines(2).cumulative(), 0.75);
}

TEST_F(RunScoresTest, ConfidenceIsHeldAgainstWhatIsTrue) {
  Add({"GPU.A"}, "GPU.A", "TAXONOMY", 0.95);
  Add({"GPU.A"}, "GPU.B", "TAXONOMY", 0.95);
  v1::JudgedHypothesis& judged = *results_[0].add_judged();
  judged.set_label("GPU.C");
  judged.set_status("REJECTED");
  judged.set_probability(0.05);
  judged.set_entailed(true);
  v1::JudgedHypothesis& effect = *results_[0].add_judged();
  effect.set_label("GPU.EFFECT");
  effect.set_status("CONFIRMED");
  effect.set_probability(0.95);
  cases_[0].add_labels_secondary("GPU.EFFECT");
  const v1::Scores run = Score();
  EXPECT_EQ(run.primary_calibration().verdicts(), 2);
  EXPECT_NEAR(run.primary_calibration().error(), 0.45, 1e-12);
  EXPECT_EQ(run.verdict_calibration().verdicts(), 1)
      << "an effect that is there counts neither way";
  EXPECT_EQ(run.entailment().rejected(), 1);
  EXPECT_EQ(run.entailment().rejected_entailed(), 1);
}

TEST_F(RunScoresTest, OnlyRightCausesArePlaced) {
  Add({"GPU.A"}, "GPU.A").mutable_primary()->add_places("n1");
  Add({"GPU.A"}, "GPU.B").mutable_primary()->add_places("n1");
  for (v1::Case& a_case : cases_) {
    a_case.add_hosts("n1");
    a_case.add_faulty("n1");
  }
  const v1::Scores run = Score();
  EXPECT_EQ(run.attribution().hosts_judged(), 1);
  EXPECT_EQ(run.attribution().hosts_right(), 1);
}

TEST_F(RunScoresTest, TheSameSeedGivesTheSameNumbers) {
  for (int i = 0; i < 30; ++i) Add({"GPU.A"}, i % 3 == 0 ? "GPU.B" : "GPU.A");
  using google::protobuf::util::MessageDifferencer;
  EXPECT_TRUE(MessageDifferencer::Equals(Score(7), Score(7)));
  const v1::LeafScores all = Score(7).all();
  EXPECT_LT(all.micro_f1_low(), all.micro_f1());
  EXPECT_GT(all.micro_f1_high(), all.micro_f1());
}

TEST_F(RunScoresTest, NoCasesGiveNoNumbers) {
  const v1::Scores run = Score();
  EXPECT_EQ(run.cases(), 0);
  EXPECT_EQ(run.all().micro_f1(), 0);
}

}  // namespace
}  // namespace galen::eval
