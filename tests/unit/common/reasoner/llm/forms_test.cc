#include "common/reasoner/llm/forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace galen::reasoner::llm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::string_view kModel = "m";

Json J(absl::string_view text) {
  auto json = ParseObject(text);
  EXPECT_TRUE(json.ok()) << json.status() << "\n" << text;
  return json.ok() ? *json : Json::object();
}

template <typename Causes>
std::vector<std::string> Labels(const Causes& causes) {
  std::vector<std::string> labels;
  for (const auto& cause : causes) labels.push_back(cause.label());
  return labels;
}

v1::HistoryAnswer History() {
  v1::HistoryAnswer answer;
  double probability = 0.5;
  for (const char* label : {"A.B.C", "A.B.D", "E.F.G"}) {
    auto& cause = *answer.add_causes();
    cause.set_label(label);
    cause.set_probability(probability);
    cause.set_reason(std::string("resembles ") + label);
    cause.add_incidents("i");
    probability -= 0.1;
  }
  return answer;
}

v1::RankAnswer Ranking() {
  v1::RankAnswer answer;
  const auto add = [&](const char* label, double share, bool pruned) {
    auto& ranked = *answer.add_ranked();
    ranked.set_label(label);
    ranked.set_probability(share);
    ranked.set_pruned(pruned);
    ranked.set_reason("by the rules");
  };
  add("GPU", 0.5, false);
  add("NET", 0.3, false);
  add("SYS", 0.2, false);
  add("APP", 0, true);
  return answer;
}

TEST(Drafts, TakenAsTheyAreChangeNothing) {
  EXPECT_THAT(Labels(TakeHistory(HistoryForm(History(), 2).draft, History(), 2)->causes()),
              ElementsAre("A.B.C", "A.B.D"));
  EXPECT_EQ(TakeRank(RankForm(Ranking()).draft, Ranking())->ShortDebugString(),
            Ranking().ShortDebugString());
  v1::SummarizeAnswer summary;
  summary.set_text("It broke.");
  summary.set_failure_class("GPU");
  EXPECT_EQ(TakeSummarize(SummarizeForm({"GPU"}, summary).draft, {"GPU"})->ShortDebugString(),
            summary.ShortDebugString());
  v1::CritiqueAnswer critique;
  critique.add_labels("A.B.C");
  critique.add_remarks("known");
  EXPECT_EQ(TakeCritique(CritiqueForm(critique, {"A.B.C"}).draft, critique, {"A.B.C"}, kModel)
                ->ShortDebugString(),
            critique.ShortDebugString());
  galen::v1::Verdict verdict;
  verdict.set_label("A.B.C");
  verdict.set_probability(0.4);
  EXPECT_EQ(TakeJudge(JudgeForm({}).draft, verdict, {}, kModel)->ShortDebugString(),
            verdict.ShortDebugString());
  v1::ExploreAnswer explore;
  explore.add_suggestions()->set_title("look");
  EXPECT_EQ(TakeExplore(ExploreForm().draft, explore, kModel)->ShortDebugString(),
            explore.ShortDebugString());
}

TEST(History, IsReorderedWithinWhatIsOffered) {
  const struct {
    const char* answer;
    std::vector<std::string> labels;  // empty: refused
  } kCases[] = {
      {R"({"causes": [{"label": "A.B.D", "reason": ""}, {"label": "A.B.C", "reason": ""}]})",
       {"A.B.D", "A.B.C"}},
      // The rules' first is tested whatever is said.
      {R"({"causes": [{"label": "E.F.G"}, {"label": "A.B.D"}]})", {"E.F.G", "A.B.C"}},
      {R"({"causes": [{"label": "E.F.G"}]})", {"E.F.G", "A.B.C"}},
      {R"({"causes": []})", {"A.B.C", "A.B.D"}},
      {R"({"causes": [{"label": "A.B.C"}, {"label": "A.B.C"}]})", {}},
      {R"({"causes": [{"label": "X.Y.Z"}]})", {}},
      {R"({"causes": [{"label": "a.b.c"}]})", {}},
      {R"({"causes": [{"label": 7}]})", {}},
      {R"({"causes": ["A.B.C"]})", {}},
      {R"({"causes": "A.B.C"})", {}},
      {R"({"answer": []})", {}},
  };
  for (const auto& c : kCases) {
    const auto taken = TakeHistory(J(c.answer), History(), 2);
    ASSERT_EQ(taken.ok(), !c.labels.empty()) << c.answer;
    if (!taken.ok()) continue;
    EXPECT_EQ(Labels(taken->causes()), c.labels) << c.answer;
  }
}

TEST(History, KeepsWhatTheRulesSaidOfEachCause) {
  const auto taken = TakeHistory(
      J(R"({"causes": [{"label": "E.F.G", "reason": "sure", "probability": 1}]})"), History(), 1);
  ASSERT_TRUE(taken.ok());
  EXPECT_THAT(Labels(taken->causes()), ElementsAre("A.B.C"));
  const auto two =
      TakeHistory(J(R"({"causes": [{"label": "E.F.G", "reason": "sure"}]})"), History(), 2);
  EXPECT_EQ(two->causes(0).reason(), "resembles E.F.G");
  EXPECT_LE(two->causes(0).probability(), 0.5);
}

TEST(Rank, ReordersAndPrunesNothing) {
  const auto taken = TakeRank(J(R"({"ranked": [{"label": "SYS", "reason": "clock"}]})"), Ranking());
  ASSERT_TRUE(taken.ok());
  EXPECT_THAT(Labels(taken->ranked()), ElementsAre("SYS", "GPU", "NET", "APP"));
  EXPECT_DOUBLE_EQ(taken->ranked(0).probability(), 0.5);
  EXPECT_DOUBLE_EQ(taken->ranked(2).probability(), 0.2);
  EXPECT_EQ(taken->ranked(0).reason(), "clock");
  EXPECT_FALSE(taken->ranked(2).pruned());
  EXPECT_TRUE(taken->ranked(3).pruned());
}

TEST(Rank, RefusesWhatWasNotOffered) {
  for (const char* answer : {R"({"ranked": [{"label": "APP"}]})",  // pruned: it was not offered
                             R"({"ranked": [{"label": "DROP TABLE"}]})", R"({"ranked": []})",
                             R"({"ranked": [{"label": "GPU"}, {"label": "GPU"}]})", R"({})"}) {
    EXPECT_FALSE(TakeRank(J(answer), Ranking()).ok()) << answer;
  }
}

TEST(Judge, AddsAReasonAndLeavesTheVerdict) {
  galen::v1::Verdict draft;
  draft.set_label("A.B.C");
  draft.set_outcome(galen::v1::Verdict::INCONCLUSIVE);
  draft.set_probability(0.4);
  draft.add_reasons()->set_text("by the rules");
  const Citable citable = {{"c1", "gpu.ecc@n1"}};
  const auto taken = TakeJudge(
      J(R"({"opinion": "supports", "text": "it rose", "evidence": ["c1"], "outcome": "CONFIRMED",
            "probability": 1, "devices": [{"node": "other"}]})"),
      draft, citable, kModel);
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ(taken->outcome(), galen::v1::Verdict::INCONCLUSIVE);
  EXPECT_DOUBLE_EQ(taken->probability(), 0.4);
  EXPECT_TRUE(taken->devices().empty());
  ASSERT_EQ(taken->reasons_size(), 2);
  EXPECT_THAT(taken->reasons(1).text(), HasSubstr("noted by the model m, not weighed: it rose"));
  EXPECT_THAT(taken->reasons(1).evidence_ids(), ElementsAre("gpu.ecc@n1"));
}

TEST(Judge, AnOpinionCitesWhatWasShown) {
  const galen::v1::Verdict draft;
  const Citable citable = {{"c1", "gpu.ecc@n1"}};
  for (const char* answer : {R"({"opinion": "supports", "text": "x", "evidence": []})",
                             R"({"opinion": "supports", "text": "x", "evidence": ["c2"]})",
                             R"({"opinion": "supports", "text": "x", "evidence": ["gpu.ecc@n1"]})",
                             R"({"opinion": "confirmed", "text": "x", "evidence": ["c1"]})"}) {
    EXPECT_FALSE(TakeJudge(J(answer), draft, citable, kModel).ok()) << answer;
  }
}

TEST(Critique, AddsAtMostTwoOfWhatIsOffered) {
  v1::CritiqueAnswer draft;
  draft.add_labels("A");
  const std::set<std::string> choices = {"A", "B", "C", "D"};
  const auto taken = TakeCritique(
      J(R"({"labels": ["D", "C", "B"], "remarks": ["r1", "r2", "r3"]})"), draft, choices, kModel);
  ASSERT_TRUE(taken.ok());
  EXPECT_THAT(taken->labels(), ElementsAre("A", "D", "C"));
  EXPECT_THAT(taken->remarks(), ElementsAre("the model m remarks: r1", "the model m remarks: r2"));
  EXPECT_FALSE(TakeCritique(J(R"({"labels": ["Z"], "remarks": []})"), draft, choices, kModel).ok());
}

TEST(Explore, MarksIdeasAsTheModels) {
  v1::ExploreAnswer draft;
  draft.add_suggestions()->set_title("of the rules");
  std::string many = R"({"suggestions": [)";
  for (int i = 0; i < 5; ++i) {
    if (i > 0) many += ",";
    many += R"({"title": "t", "rationale": "r", "steps": ["a", "b"]})";
  }
  const auto taken = TakeExplore(J(many + "]}"), draft, kModel);
  ASSERT_TRUE(taken.ok());
  ASSERT_EQ(taken->suggestions_size(), 4);
  EXPECT_EQ(taken->suggestions(0).title(), "of the rules");
  EXPECT_EQ(taken->suggestions(1).title(), "t (an idea of the model m)");
}

TEST(Conclude, GivesWordsThatCiteWhatWasShown) {
  const Citable citable = {{"s1", "signal/x@log"}};
  const auto taken =
      TakeConclude(J(R"({"summary": "The link fell.", "evidence": ["s1"]})"), citable);
  ASSERT_TRUE(taken.ok());
  EXPECT_THAT(taken->evidence_ids, ElementsAre("signal/x@log"));
  EXPECT_FALSE(TakeConclude(J(R"({"summary": "x", "evidence": ["c9"]})"), citable).ok());
  EXPECT_FALSE(TakeConclude(J(R"({"summary": "", "evidence": []})"), citable).ok());
}

TEST(Summarize, ItsClassIsOneOfTheMainCategoriesOrNone) {
  EXPECT_TRUE(
      TakeSummarize(J(R"({"text": "x", "failure_class": "", "keywords": []})"), {"GPU"}).ok());
  EXPECT_FALSE(
      TakeSummarize(J(R"({"text": "x", "failure_class": "EVIL", "keywords": []})"), {"GPU"}).ok());
  EXPECT_FALSE(
      TakeSummarize(J(R"({"text": "", "failure_class": "", "keywords": []})"), {"GPU"}).ok());
}

TEST(Thoughts, AreTextsOrAbsent) {
  EXPECT_EQ(ThoughtsOf(J(R"({"thoughts": {"critique": "but"}})"))->critique, "but");
  EXPECT_TRUE(ThoughtsOf(J("{}"))->proposition.empty());
  EXPECT_FALSE(ThoughtsOf(J(R"({"thoughts": "none"})")).ok());
  EXPECT_FALSE(ThoughtsOf(J(R"({"thoughts": {"critique": 3}})")).ok());
}

TEST(Schemas, EnumerateTheChoicesAndAllowNothingElse) {
  const Json schema = HistoryForm(History(), 2).schema;
  const Json& cause = schema["properties"]["causes"]["items"];
  EXPECT_EQ(cause["properties"]["label"]["enum"], Json::array({"A.B.C", "A.B.D", "E.F.G"}));
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(cause["additionalProperties"], false);
  // An enumeration of nothing is no schema.
  EXPECT_EQ(JudgeForm({}).schema["properties"]["evidence"]["maxItems"], 0);
  // What pruning took is not offered.
  EXPECT_EQ(
      RankForm(Ranking()).schema["properties"]["ranked"]["items"]["properties"]["label"]["enum"],
      Json::array({"GPU", "NET", "SYS"}));
}

}  // namespace
}  // namespace galen::reasoner::llm
