#include "services/orchestrator/event_builders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/services/orchestrator/events.h"

namespace galen::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Effect Asked(std::vector<std::string> checks, std::vector<std::string> labels) {
  Effect effect;
  effect.kind = checks.empty() ? Effect::Kind::kJudge : Effect::Kind::kChecks;
  effect.id = "asked/1";
  effect.checks = std::move(checks);
  effect.labels = std::move(labels);
  return effect;
}

v1::CheckResult Result(const std::string& check, const std::string& node) {
  v1::CheckResult result;
  result.set_check(check);
  result.set_node(node);
  result.set_status(v1::CheckResult::PASS);
  return result;
}

TEST(Outcomes, TakeAResultThatWasAskedForUnderItsOwnId) {
  v1::CheckResult result = Result("a", "n1");
  result.set_id("forged@elsewhere");
  const auto event = ResultEvent(Summarized(), Asked({"a"}, {}), result);
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->check_completed().result().id(), "a@n1");
}

TEST(Outcomes, DropAResultThatNobodyAskedForOrThatIsThere) {
  State state = Summarized();
  EXPECT_FALSE(ResultEvent(state, Asked({"a"}, {}), Result("b", "n1")).has_value());
  EXPECT_FALSE(ResultEvent(state, Asked({"a"}, {}), Result("a", "n2")).has_value());
  ApplyNext(state, Passed("a"));
  EXPECT_FALSE(ResultEvent(state, Asked({"a"}, {}), Result("a", "n1")).has_value());
}

TEST(Outcomes, ReadAResultWithoutStatusAsAnError) {
  v1::CheckResult result = Result("a", "n1");
  result.clear_status();
  const auto event = ResultEvent(Summarized(), Asked({"a"}, {}), result);
  EXPECT_EQ(event->check_completed().result().status(), v1::CheckResult::ERROR);
}

TEST(Outcomes, GiveEveryLabelAskedForOneVerdictAndNoOtherLabelAny) {
  reflection::v1::JudgeResponse response;
  for (const char* label : {"FOREIGN", "Y", "Y"}) {
    v1::Verdict& verdict = *response.add_verdicts();
    verdict.set_label(label);
    verdict.set_outcome(v1::Verdict::CONFIRMED);
  }
  const v1::VerdictsGiven given = VerdictsEvent(Asked({}, {"X", "Y"}), response).verdicts_given();
  EXPECT_EQ(given.batch(), "asked/1");
  ASSERT_EQ(given.verdicts_size(), 2);
  EXPECT_EQ(given.verdicts(0).label(), "X");
  EXPECT_EQ(given.verdicts(0).outcome(), v1::Verdict::INCONCLUSIVE);
  EXPECT_THAT(given.verdicts(0).reasons(0).text(), HasSubstr("no verdict"));
  EXPECT_EQ(given.verdicts(1).label(), "Y");
  EXPECT_EQ(given.verdicts(1).outcome(), v1::Verdict::CONFIRMED);
}

TEST(Outcomes, KeepTwoDistinctCausesOfHistory) {
  planning::v1::ProposeFromHistoryResponse response;
  for (const char* label : {"", "X", "X", "Y", "Z"}) {
    response.add_hypotheses()->mutable_hypothesis()->set_label(label);
  }
  std::vector<std::string> labels;
  const v1::DiagnosisEvent event = ProposedEvent(response);
  for (const auto& proposed : event.hypotheses_proposed().hypotheses()) {
    labels.push_back(proposed.hypothesis().label());
  }
  EXPECT_THAT(labels, ElementsAre("X", "Y"));
}

TEST(Outcomes, DoNotAddWhatWasJudged) {
  State state = Summarized();
  ApplyNext(state, Event("hypotheses_proposed { hypotheses { hypothesis { label: 'X' } } }"));
  ApplyNext(state, Event("verdicts_given { verdicts { label: 'X' outcome: REJECTED } }"));
  reflection::v1::CritiqueResponse response;
  response.add_add()->mutable_hypothesis()->set_label("X");
  response.add_add()->mutable_hypothesis()->set_label("Y");
  response.add_remarks("r");
  const v1::DiagnosisEvent event = CritiquedEvent(state, response);
  ASSERT_EQ(event.critiqued().add_size(), 1);
  EXPECT_EQ(event.critiqued().add(0).hypothesis().label(), "Y");
  EXPECT_THAT(event.critiqued().remarks(), ElementsAre("r"));
}

TEST(Outcomes, NameEachNodeOnce) {
  execution::v1::ResolveNodesResponse nodes;
  for (const char* node : {"n2", "n1", "n2"}) nodes.add_nodes(node);
  EXPECT_THAT(SummarizedEvent({}, nodes).summarized().nodes(), ElementsAre("n2", "n1"));
}

TEST(Outcomes, CountTheAttemptsOfACall) {
  State state = Summarized();
  const Effect effect = Asked({}, {"X"});
  const absl::Status error = absl::UnavailableError("gone");
  const RetryLimits retry_limits{.unreachable = 4, .otherwise = 3};
  for (int attempt = 1; attempt <= 4; ++attempt) {
    const v1::DiagnosisEvent event = CallFailedEvent(state, effect, error, retry_limits);
    EXPECT_EQ(event.call_failed().attempt(), attempt);
    EXPECT_EQ(event.call_failed().final(), attempt == 4);
    EXPECT_EQ(event.call_failed().error().message(), "gone");
    ApplyNext(state, event);
  }
}

// A search of twenty questions to an agent that is gone waits for it once, not twenty times.
TEST(Outcomes, AnAgentThatWasGivenUpIsWaitedForLess) {
  const RetryLimits retry_limits{.unreachable = 4, .otherwise = 2};
  const absl::Status gone = absl::UnavailableError("gone");
  State state = Summarized();
  const auto attempts_of = [&](const char* id) {
    Effect effect;
    effect.id = id;
    for (int attempt = 1;; ++attempt) {
      const v1::DiagnosisEvent event = CallFailedEvent(state, effect, gone, retry_limits);
      ApplyNext(state, event);
      if (event.call_failed().final()) return attempt;
    }
  };
  EXPECT_EQ(attempts_of("history/1"), 4);
  EXPECT_EQ(attempts_of("rank/GPU/1"), 2);
  EXPECT_EQ(attempts_of("explore/1"), 2);
  EXPECT_EQ(attempts_of("judge/history/1"), 4) << "another agent";
  EXPECT_EQ(attempts_of("critique/1"), 2);
  EXPECT_EQ(attempts_of("checks/history/1"), 4);
  EXPECT_EQ(attempts_of("conclude/1"), 4);
}

TEST(Outcomes, AnAgentThatRefusedAQuestionIsNotGivenUp) {
  State state = Summarized();
  Effect effect;
  effect.id = "history/1";
  ApplyNext(state, CallFailedEvent(state, effect, absl::InvalidArgumentError("no"), RetryLimits()));
  effect.id = "rank/1";
  const RetryLimits retry_limits{.unreachable = 2, .otherwise = 1};
  EXPECT_FALSE(CallFailedEvent(state, effect, absl::UnavailableError("gone"), retry_limits)
                   .call_failed()
                   .final());
}

}  // namespace
}  // namespace galen::orchestrator
