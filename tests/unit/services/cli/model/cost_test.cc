// What a model takes, and what that changes.
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
using ::testing::IsEmpty;
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

TEST(Model, IsAskedSixTimesAtMostWhateverTheDiagnosisNeeds) {
  for (const char* strategy :
       {"tiered", "taxonomy", "selfplay", "exhaustive", "history", "direct"}) {
    for (const int fan : {0, 900}) {
      FakeLlmClient client(AnswerTheDraft);
      client.report_usage = false;  // counted by length
      World world({.model = reasoner::llm::Model{.client = &client}, .fan = fan});
      const v1::Diagnosis diagnosis =
          world.Diagnose(World::Incident(), "tenants/default", strategy).diagnosis;
      EXPECT_LE(client.requests().size(), 6u) << strategy << " " << fan;
      EXPECT_LE(diagnosis.report().reasoner_spent().input_tokens(), 10'000) << strategy;
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
  EXPECT_THAT(client.requests(), SizeIs(4));  // two questions, each repaired once
}

TEST(Model, ATenantsDayIsSharedByItsDiagnosesAndByNobodyElse) {
  FakeLlmClient client(AnswerTheDraft);
  World world({.model = reasoner::llm::Model{.client = &client}, .calls_a_day = 4});
  const auto calls = [&](const std::string& tenant) {
    return world.Diagnose(World::Incident(), tenant).diagnosis.report();
  };
  const v1::Report first = calls("tenants/a");
  EXPECT_LE(first.reasoner_spent().calls(), 4);
  ASSERT_GE(first.reasoner_spent().calls(), 3);
  // What is left of the day, and then nothing; the answer is the rules'. (Over midnight UTC the day
  // begins anew; then there is nothing to see.)
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
  EXPECT_GE(calls("tenants/b").reasoner_spent().calls(), 3);
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

TEST(Selfplay, AsksTheModelInEachOfItsRounds) {
  FakeLlmClient client(AnswerTheDraft);
  World world({.model = reasoner::llm::Model{.client = &client}});
  const v1::Diagnosis diagnosis =
      world.Diagnose(World::Incident(), "tenants/default", "selfplay").diagnosis;
  std::vector<std::string> asked;
  for (const auto& request : client.requests()) asked.push_back(request.purpose);
  ASSERT_GE(asked.size(), 3u);
  EXPECT_EQ(asked[0], "summarize");  // keywords, and what they retrieve
  EXPECT_EQ(asked[1], "history");
  EXPECT_EQ(asked[2], "critique");  // what to check besides; the checks then attribute
  EXPECT_FALSE(VerdictsOf(diagnosis).empty());
}

TEST(Selfplay, KeywordsOfTheModelAreSearchedFor) {
  FakeLlmClient client([](const llm::ChatRequest& request) {
    std::string answer = ::galen::testing::DraftOf(request.messages[1].content);
    const std::string none = "\"keywords\":[]";
    const std::size_t at = answer.find(none);
    return at == std::string::npos ? answer
                                   : answer.replace(at, none.size(), "\"keywords\":[\"resolver\"]");
  });
  World world({.model = reasoner::llm::Model{.client = &client}});
  const v1::Diagnosis diagnosis =
      world.Diagnose(World::Incident(), "tenants/default", "selfplay").diagnosis;
  ASSERT_EQ(diagnosis.summary().keywords_size(), 1);
  EXPECT_EQ(diagnosis.summary().keywords(0), "resolver");
}

}  // namespace
}  // namespace galen::cli
