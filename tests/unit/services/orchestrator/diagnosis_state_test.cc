#include "services/orchestrator/diagnosis_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/orchestrator/projection.h"
#include "services/orchestrator/request_builders.h"
#include "services/orchestrator/shared_evidence.h"
#include "tests/unit/services/orchestrator/events.h"

namespace galen::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DiagnosisState, IsPendingUntilSomethingHappened) {
  State state;
  ApplyNext(state, Event("created { name: 'tenants/t/diagnoses/d' strategy: 'tiered' }"));
  EXPECT_EQ(state.lifecycle, v1::Diagnosis::PENDING);
  ApplyNext(state, Event("call_failed { call: 'summarize/1' attempt: 1 }"));
  EXPECT_EQ(state.lifecycle, v1::Diagnosis::RUNNING);
  EXPECT_EQ(ToDiagnosis(state).last_sequence(), 2);
  EXPECT_EQ(ToDiagnosis(state).create_time().seconds(), 1'001);
  EXPECT_EQ(ToDiagnosis(state).update_time().seconds(), 1'002);
}

TEST(DiagnosisState, CountsARepeatedResultOnce) {
  State state = Summarized();
  ApplyNext(state, Passed("a"));
  v1::DiagnosisEvent again = Passed("a");
  again.mutable_check_completed()->mutable_result()->set_status(v1::CheckResult::FAIL);
  ApplyNext(state, again);
  EXPECT_EQ(state.done["a"], 1);
  ASSERT_EQ(ToDiagnosis(state).check_results_size(), 1);
  EXPECT_EQ(ToDiagnosis(state).check_results(0).status(), v1::CheckResult::PASS);
}

TEST(DiagnosisState, OrdersEvidenceByIdHoweverItCame) {
  State state = Summarized();
  for (const char* check : {"b", "c", "a"}) ApplyNext(state, Passed(check));
  std::vector<std::string> ids;
  const SharedEvidence shared(state);
  for (const auto& result : shared.evidence().results()) ids.push_back(result.id());
  EXPECT_THAT(ids, ElementsAre("a@n1", "b@n1", "c@n1"));
}

TEST(DiagnosisState, ARequestKeepsTheEvidenceOfItsMomentWhateverBecomesOfTheDiagnosis) {
  clients::Shared<planning::v1::ProposeFromHistoryRequest> request;
  {
    State state = Summarized();
    ApplyNext(state, Passed("a"));
    request = HistoryRequestOf(state);
    ApplyNext(state, Passed("b"));
    ApplyNext(state, Event("summarized { summary { text: 'new' } nodes: 'n1' }"));
  }
  ASSERT_EQ(request->evidence().results_size(), 1);
  EXPECT_EQ(request->evidence().results(0).id(), "a@n1");
  EXPECT_EQ(request->evidence().summary().text(), "s");
}

TEST(DiagnosisState, CountsResultsAnewWhenTheNodesChange) {
  State state = Summarized();
  ApplyNext(state, Passed("a"));
  ApplyNext(state, Event("summarized { nodes: 'n1' nodes: 'n2' }"));
  EXPECT_EQ(state.done["a"], 1);
  ApplyNext(state, Event("summarized { nodes: 'n2' }"));
  EXPECT_EQ(state.done["a"], 0);
}

TEST(DiagnosisState, BeliefInALeafIsItsShareOfItsBranch) {
  State state = Summarized();
  ApplyNext(state, Event("children_ranked { children { label: 'A' probability: 0.5 } }"));
  ApplyNext(state, Event(R"(children_ranked { label: 'A'
      children { label: 'A.X' title: 'x' leaf: true probability: 0.25 reason: 'r' } })"));
  const v1::Hypothesis& hypothesis = FindHypothesis(state, "A.X")->hypothesis;
  EXPECT_DOUBLE_EQ(hypothesis.prior(), 0.125);
  EXPECT_EQ(hypothesis.origin(), v1::Hypothesis::TAXONOMY);
  EXPECT_EQ(hypothesis.reason(), "r");
}

TEST(DiagnosisState, DropsTheMemoryOfABranchOnLeavingIt) {
  State state = Summarized();
  ApplyNext(state, Event("children_ranked { label: 'A' children { label: 'A.X' leaf: true } }"));
  EXPECT_EQ(state.round.rankings.size(), 1u);
  ApplyNext(state, Event("branch_left { label: 'A' }"));
  EXPECT_THAT(state.round.rankings, IsEmpty());
  EXPECT_NE(FindHypothesis(state, "A.X"), nullptr);
}

TEST(DiagnosisState, ACritiqueTakesUpAPrunedLeaf) {
  State state = Summarized();
  ApplyNext(state, Event("children_ranked { children { label: 'X' leaf: true pruned: true } }"));
  EXPECT_EQ(FindHypothesis(state, "X")->hypothesis.status(), v1::Hypothesis::PRUNED);
  ApplyNext(state, Event("critiqued { add { hypothesis { label: 'X' } checks: 'a' } }"));
  EXPECT_EQ(FindHypothesis(state, "X")->hypothesis.status(), v1::Hypothesis::PENDING);
  EXPECT_EQ(FindHypothesis(state, "X")->hypothesis.origin(), v1::Hypothesis::CRITIQUE);
}

TEST(DiagnosisState, PruningDoesNotTakeBackAVerdict) {
  State state = Summarized();
  ApplyNext(state, Event("hypotheses_proposed { hypotheses { hypothesis { label: 'X' } } }"));
  ApplyNext(state, Event("verdicts_given { verdicts { label: 'X' outcome: CONFIRMED } }"));
  ApplyNext(state, Event("children_ranked { children { label: 'X' leaf: true pruned: true } }"));
  EXPECT_EQ(FindHypothesis(state, "X")->hypothesis.status(), v1::Hypothesis::CONFIRMED);
  EXPECT_EQ(FindHypothesis(state, "X")->hypothesis.origin(), v1::Hypothesis::HISTORY);
}

TEST(DiagnosisState, IgnoresAVerdictOnWhatNobodyProposed) {
  State state = Summarized();
  ApplyNext(state, Event("verdicts_given { verdicts { label: 'X' outcome: CONFIRMED } }"));
  EXPECT_FALSE(AnyConfirmed(state));
  EXPECT_THAT(ToDiagnosis(state).hypotheses(), IsEmpty());
}

TEST(DiagnosisView, ShowsWhatIsBeingTestedAsExploring) {
  State state = Summarized();
  ApplyNext(state, Event(R"(hypotheses_proposed {
      hypotheses { hypothesis { label: 'X' } checks: 'a' } })"));
  EXPECT_EQ(ToDiagnosis(state).hypotheses(0).status(), v1::Hypothesis::EXPLORING);
  ApplyNext(state, Event("cancelled {}"));
  EXPECT_EQ(ToDiagnosis(state).hypotheses(0).status(), v1::Hypothesis::PENDING);
}

TEST(DiagnosisView, ListsWithoutResultsReasoningAndEvidence) {
  State state = Summarized();
  ApplyNext(state, Passed("a"));
  ApplyNext(state, Event(R"(concluded { report { headline: 'h' outcome: CAUSE_CONFIRMED
                              evidence { id: 'a@n1' } } reasoning { id: 'r' } })"));
  const v1::Diagnosis full = ToDiagnosis(state);
  EXPECT_EQ(full.check_results_size(), 1);
  EXPECT_EQ(full.reasoning_size(), 1);
  EXPECT_EQ(full.report().evidence_size(), 1);
  EXPECT_EQ(full.state(), v1::Diagnosis::SUCCEEDED);
  const v1::Diagnosis listed = ToListedDiagnosis(state);
  EXPECT_EQ(listed.check_results_size(), 0);
  EXPECT_EQ(listed.reasoning_size(), 0);
  EXPECT_EQ(listed.report().evidence_size(), 0);
  EXPECT_EQ(listed.report().headline(), "h");
}

TEST(DiagnosisView, ShowsWhyADiagnosisFailed) {
  State state = Summarized();
  ApplyNext(state, Event("failed { error { code: 5 message: 'no such bundle' } }"));
  EXPECT_EQ(ToDiagnosis(state).state(), v1::Diagnosis::FAILED);
  EXPECT_EQ(ToDiagnosis(state).error().message(), "no such bundle");
}

TEST(Requests, AskForTheChecksOnThoseNodesThatMissOne) {
  State state;
  ApplyNext(state, Event(R"(created { incident { bundle: '/b' start_time { seconds: 7 } } })"));
  ApplyNext(state, Event("summarized { nodes: 'n1' nodes: 'n2' nodes: 'n3' }"));
  ApplyNext(state, Passed("a", "n2"));
  Effect effect;
  effect.checks = {"a"};
  const auto request = RunChecksRequestOf(state, effect);
  EXPECT_THAT(request.checks(), ElementsAre("a"));
  EXPECT_THAT(request.nodes(), ElementsAre("n1", "n3"));
  EXPECT_EQ(request.bundle(), "/b");
  EXPECT_EQ(request.start_time().seconds(), 7);
  EXPECT_FALSE(request.has_end_time());
  EXPECT_FALSE(request.allow_intrusive());
}

TEST(Requests, GiveTheTextOfLogsToSummarizationAlone) {
  State state;
  ApplyNext(state, Event("created { incident { logs { path: 'l' content: 'text' } } }"));
  EXPECT_EQ(SummarizeRequestOf(state).incident().logs(0).content(), "text");
  EXPECT_EQ(HistoryRequestOf(state)->incident().logs(0).content(), "");
  EXPECT_EQ(ConcludeRequestOf(state)->incident().logs(0).path(), "l");
}

TEST(Requests, TellConclusionWhatLimitedTheSearch) {
  State state = Summarized();
  ApplyNext(state, Event("branch_left { label: 'A' early_stop: true reason: 'nothing fits' }"));
  ApplyNext(state, Event("critiqued { remarks: 'an Xid is unexplained' }"));
  ApplyNext(state, Event("call_failed { call: 'explore/1' attempt: 1 final: true error { code: 13 "
                         "message: 'm' } }"));
  ApplyNext(state, Event("call_failed { call: 'conclude/1' attempt: 1 }"));
  EXPECT_THAT(ConcludeRequestOf(state)->notes(),
              ElementsAre("the search below A stopped early: nothing fits", "an Xid is unexplained",
                          "the call explore/1 failed after 1 attempt: m"));
}

}  // namespace
}  // namespace galen::orchestrator
