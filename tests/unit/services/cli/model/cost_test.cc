// The cost of a model, and the effects of a budget.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/testing/reasoner/fake_llm_client.h"
#include "world.h"

namespace galen::cli {
namespace {

using ::galen::testing::AnswerTheDraft;
using ::galen::testing::FakeLlmClient;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Model, ThatAgreesWithTheRulesChangesNothingButTheWords) {
  World rules({});
  const v1::Diagnosis alone = rules.Diagnose(World::Incident()).diagnosis;
  ASSERT_EQ(alone.state(), v1::Diagnosis::SUCCEEDED);
  ASSERT_EQ(alone.report().primary_cause().label(), "GPU.FAN_STUCK");
  EXPECT_EQ(alone.report().reasoner(), "builtin");
  EXPECT_FALSE(alone.report().has_reasoner_spent());
  EXPECT_EQ(ModelNoteOf(alone), "");

  FakeLlmClient client(AnswerTheDraft);
  World world({.model = reasoner::llm::Model{.client = &client}});
  const v1::Diagnosis with = world.Diagnose(World::Incident()).diagnosis;
  EXPECT_EQ(with.report().headline(), alone.report().headline());
  EXPECT_EQ(VerdictsOf(with), VerdictsOf(alone));
  EXPECT_EQ(ChecksOf(with), ChecksOf(alone));
  EXPECT_EQ(with.report().reasoner(), "builtin with fake-1");
  EXPECT_THAT(ModelNoteOf(with), HasSubstr("The model fake-1 answered"));
  EXPECT_EQ(with.report().reasoner_spent().calls(),
            static_cast<std::int64_t>(client.requests().size()));
  EXPECT_GT(with.report().reasoner_spent().input_tokens(), 0);
}

TEST(Model, IsAskedEachQuestionOnceWhereItHasNothingToAskInTurn) {
  for (const char* strategy :
       {"tiered", "taxonomy", "selfplay", "exhaustive", "history", "direct"}) {
    for (const int fan : {0, 900}) {
      FakeLlmClient client(AnswerTheDraft);
      client.report_usage = false;  // counted by length
      World world({.model = reasoner::llm::Model{.client = &client}, .fan = fan});
      const v1::Diagnosis diagnosis =
          world.Diagnose(World::Incident(), "tenants/default", strategy).diagnosis;
      EXPECT_LE(client.requests().size(), 1u) << strategy << " " << fan;
      EXPECT_LE(diagnosis.report().reasoner_spent().input_tokens(), 6'000) << strategy;
      std::multiset<std::string> asked;
      for (const auto& request : client.requests()) asked.insert(request.purpose);
      for (const std::string& question : asked) EXPECT_EQ(asked.count(question), 1u) << question;
    }
  }
}

TEST(Model, ThatAnswersBadlyToTheEndOfTheBudgetSaysSoInTheReport) {
  FakeLlmClient client([](const llm::ChatRequest&) { return "{}"; });
  World world({.model = reasoner::llm::Model{.client = &client}});
  const v1::Diagnosis diagnosis = world.Diagnose(World::Incident()).diagnosis;
  EXPECT_EQ(diagnosis.report().primary_cause().label(), "GPU.FAN_STUCK");
  EXPECT_THAT(ModelNoteOf(diagnosis), HasSubstr("its answer could not be used (2)"));
  EXPECT_THAT(ModelNoteOf(diagnosis), HasSubstr("it had failed before"));
  EXPECT_THAT(client.requests(), SizeIs(4));  // asked twice, each repaired once
}

TEST(Model, ATenantsDayIsSharedByItsDiagnosesAndByNobodyElse) {
  FakeLlmClient client(AnswerTheDraft);
  World world({.model = reasoner::llm::Model{.client = &client}, .calls_a_day = 2});
  const auto calls = [&](const std::string& tenant) {
    return world.Diagnose(World::Incident(), tenant).diagnosis.report();
  };
  const v1::Report first = calls("tenants/a");
  ASSERT_EQ(first.reasoner_spent().calls(), 1);
  // The rest of the day's budget, and then nothing; the rules answer. (At midnight UTC a new day
  // begins; then there is nothing to see.)
  const absl::Time before = absl::Now();
  calls("tenants/a");
  const World::Outcome third = world.Diagnose(World::Incident(), "tenants/a");
  if (absl::ToCivilDay(before, absl::UTCTimeZone()) !=
      absl::ToCivilDay(absl::Now(), absl::UTCTimeZone())) {
    GTEST_SKIP() << "midnight UTC passed meanwhile, and the day of the accounts with it";
  }
  EXPECT_EQ(third.diagnosis.report().reasoner_spent().calls(), 0);
  EXPECT_EQ(third.diagnosis.report().primary_cause().label(), "GPU.FAN_STUCK");
  EXPECT_THAT(ModelNoteOf(third.diagnosis), HasSubstr("the budget is spent"));
  EXPECT_THAT(ModelNoteOf(third.diagnosis), HasSubstr("of the tenant today"));
  EXPECT_EQ(calls("tenants/b").reasoner_spent().calls(), 1);
}

TEST(Model, WhatItThoughtStandsInTheReasoning) {
  FakeLlmClient client([](const llm::ChatRequest& request) {
    std::string answer = ::galen::testing::DraftOf(request.messages[1].content);
    const std::string empty = "\"proposition\":\"\"";
    const std::size_t at = answer.find(empty);
    return at == std::string::npos
               ? answer
               : answer.replace(at, empty.size(),
                                "\"proposition\":\"thought of " + request.purpose + "\"");
  });
  World world({.model = reasoner::llm::Model{.client = &client}});
  const World::Outcome outcome = world.Diagnose(World::Incident());
  std::set<std::string> ids;
  std::set<std::string> thoughts;
  for (const v1::ReasoningStep& step : outcome.diagnosis.reasoning()) {
    for (const std::string& parent : step.parents()) {
      EXPECT_EQ(ids.count(parent), 1u) << step.id() << " stands before " << parent;
    }
    EXPECT_TRUE(ids.insert(step.id()).second) << step.id() << " stands twice";
    if (!step.model().empty()) thoughts.insert(step.text());
  }
  for (const auto& request : client.requests()) {
    EXPECT_EQ(thoughts.count("thought of " + request.purpose), 1u) << request.purpose;
  }
  // In the log from the step on where it was thought, not only at the end.
  bool before_the_end = false;
  for (const v1::DiagnosisEvent& event : outcome.events) {
    if (event.has_concluded()) break;
    for (const v1::Reasoned& reasoned : event.reasoned())
      before_the_end |= reasoned.steps_size() > 0;
  }
  EXPECT_TRUE(before_the_end);
}

// Its three rounds by the event log: an answer from retrieved incidents; its critique, before which
// nothing is checked; then the checks of the causes that both named, and verdicts that cite their
// results.
TEST(Selfplay, GoesThroughThreeRoundsWithAModelAndWithout) {
  FakeLlmClient client(AnswerTheDraft);
  for (const bool with_model : {false, true}) {
    World::Options options;
    if (with_model) options.model = reasoner::llm::Model{.client = &client};
    World world(options);
    const World::Outcome outcome = world.Diagnose(World::Incident(), "tenants/default", "selfplay");
    std::vector<std::string> rounds;
    for (const v1::DiagnosisEvent& event : outcome.events) {
      const char* name = event.has_summarized()            ? "summary"
                         : event.has_hypotheses_proposed() ? "retrieve"
                         : event.has_critiqued()           ? "critique"
                         : event.has_checks_finished()     ? "check"
                         : event.has_verdicts_given()      ? "attribute"
                                                           : "";
      if (*name != '\0' && (rounds.empty() || rounds.back() != name)) rounds.push_back(name);
    }
    ASSERT_GE(rounds.size(), 5u);
    rounds.resize(5);
    EXPECT_THAT(rounds,
                ::testing::ElementsAre("summary", "retrieve", "critique", "check", "attribute"));
    const std::set<std::string> returned = ChecksOf(outcome.diagnosis);
    int attributed = 0;
    for (const v1::Hypothesis& each : outcome.diagnosis.hypotheses()) {
      for (const v1::Reason& reason : each.verdict().reasons()) {
        for (const std::string& id : reason.evidence_ids()) {
          attributed += static_cast<int>(returned.count(id));
        }
      }
    }
    EXPECT_GE(attributed, 1);
  }
}

}  // namespace
}  // namespace galen::cli
