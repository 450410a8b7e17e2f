#include "services/orchestrator/orchestrator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/retry_hint.h"
#include "common/store/sqlite_event_log.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/orchestrator/events.h"
#include "tests/unit/services/orchestrator/orchestrator_fixture.h"

namespace galen::orchestrator {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

TEST_F(OrchestratorTest, ALogThatNamesASourceOfTheSiteIsFetchedOrRefused) {
  v1::CreateDiagnosisRequest request = CreateRequest();
  request.mutable_diagnosis()->mutable_incident()->add_logs()->set_path("from:site");
  EXPECT_THAT(orchestrator_->Create(request).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("send the log itself")));
  Options options;
  options.owner = "b";
  options.own_timer = false;
  std::string asked_by;
  options.fetch_logs = [&asked_by](const std::string& parent,
                                   const v1::Incident& incident) -> absl::StatusOr<v1::Incident> {
    asked_by = parent;
    v1::Incident filled = incident;
    filled.mutable_logs(0)->set_path("train-0.log");
    filled.mutable_logs(0)->set_content("Traceback");
    return filled;
  };
  Orchestrator with_sources(*log_, world_.agents(), clock_, executor_, options);
  ASSERT_THAT(with_sources.Start(), IsOk());
  const auto created = with_sources.Create(request);
  ASSERT_THAT(created, IsOk());
  EXPECT_EQ(asked_by, "tenants/t");
  EXPECT_EQ(created->incident().logs(0).path(), "train-0.log");
}

TEST_F(OrchestratorTest, FindsTheCauseDeepInTheTaxonomy) {
  const absl::StatusOr<v1::Diagnosis> created = orchestrator_->Create(CreateRequest());
  ASSERT_THAT(created, IsOk());
  EXPECT_EQ(created->name(), kName);
  EXPECT_EQ(created->strategy(), "tiered");
  EXPECT_EQ(created->state(), v1::Diagnosis::PENDING);
  executor_.RunAll();
  const v1::Diagnosis diagnosis = Get();
  EXPECT_EQ(diagnosis.state(), v1::Diagnosis::SUCCEEDED);
  EXPECT_EQ(diagnosis.report().primary_cause().label(), "E.ADDED");
  std::map<std::string, v1::Hypothesis::Status> found;
  for (const v1::Hypothesis& hypothesis : diagnosis.hypotheses()) {
    found[hypothesis.label()] = hypothesis.status();
  }
  EXPECT_THAT(found, ElementsAre(Pair("A.P.OPEN", v1::Hypothesis::INCONCLUSIVE),
                                 Pair("A.P.PRUNED", v1::Hypothesis::PRUNED),
                                 Pair("A.P.WRONG", v1::Hypothesis::REJECTED),
                                 Pair("A.Q.PRUNED", v1::Hypothesis::PRUNED),
                                 Pair("B.D.CAUSE", v1::Hypothesis::CONFIRMED),
                                 Pair("B.D.OTHER", v1::Hypothesis::REJECTED),
                                 Pair("E.ADDED", v1::Hypothesis::CONFIRMED),
                                 Pair("F.SUSPECT", v1::Hypothesis::REJECTED)));
  EXPECT_THAT(problems_, IsEmpty());
}

TEST_F(OrchestratorTest, RunsEachCheckOnceOnEachNodeAndPrunedOnesNever) {
  Create();
  executor_.RunAll();
  const std::map<std::string, int> runs = world_.runs();
  EXPECT_THAT(runs, Each(Pair(::testing::_, 1)));
  EXPECT_EQ(runs.size(), 2u * 6u);  // s1, s2, c1, c2, c4 and c5 on two nodes
  EXPECT_THAT(runs, Not(Contains(Pair("never@n1", 1))));
  EXPECT_THAT(runs, Not(Contains(Pair("gc@n1", 1))));
  EXPECT_EQ(Get().check_results_size(), static_cast<int>(runs.size()));
}

TEST_F(OrchestratorTest, ARequestWithoutAStrategyGetsTheOrchestratorsOwn) {
  orchestrator_.reset();
  Options options;
  options.own_timer = false;
  options.strategy = "taxonomy";
  orchestrator_ =
      std::make_unique<Orchestrator>(*log_, world_.agents(), clock_, executor_, options);
  ASSERT_THAT(orchestrator_->Start(), IsOk());
  EXPECT_EQ(orchestrator_->Create(CreateRequest("own"))->strategy(), "taxonomy");
  v1::CreateDiagnosisRequest named = CreateRequest("named");
  named.mutable_diagnosis()->set_strategy("direct");
  EXPECT_EQ(orchestrator_->Create(named)->strategy(), "direct");
}

TEST_F(OrchestratorTest, DoesNotStartWithAStrategyThatThereIsNot) {
  Options options;
  options.own_timer = false;
  options.strategy = "magic";
  Orchestrator other(*log_, world_.agents(), clock_, executor_, options);
  EXPECT_THAT(other.Start(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("magic")));
}

TEST_F(OrchestratorTest, AConfirmedCauseOfHistorySkipsTheTaxonomy) {
  world_.truth["A.P.OPEN"] = v1::Verdict::CONFIRMED;
  world_.critique.clear();
  Create();
  executor_.RunAll();
  EXPECT_EQ(Get().state(), v1::Diagnosis::SUCCEEDED);
  EXPECT_EQ(world_.calls("RankChildren"), 0);
  EXPECT_EQ(world_.calls("Critique"), 1);
}

TEST_F(OrchestratorTest, TheStoredLogFoldsToWhatItShowed) {
  Create();
  executor_.RunAll();
  State state;
  for (const v1::DiagnosisEvent& event : Events()) {
    // At every prefix: either something is wanted, or the diagnosis is at rest.
    if (state.last_sequence > 0) {
      EXPECT_FALSE(Decide(state).empty()) << state.last_sequence;
    }
    Apply(state, event);
  }
  EXPECT_TRUE(Decide(state).empty());
  EXPECT_EQ(Get().last_sequence(), state.last_sequence);
}

TEST_F(OrchestratorTest, ARepeatedRequestGivesTheSameDiagnosis) {
  v1::CreateDiagnosisRequest request = CreateRequest();
  request.clear_diagnosis_id();
  request.set_request_id("r1");
  const std::string name = orchestrator_->Create(request)->name();
  EXPECT_EQ(orchestrator_->Create(request)->name(), name);
  executor_.RunAll();
  EXPECT_EQ(orchestrator_->Create(request)->state(), v1::Diagnosis::SUCCEEDED);
  EXPECT_EQ(world_.calls("Conclude"), 1);
}

TEST_F(OrchestratorTest, RefusesATakenIdABadRequestAndMoreThanMayWait) {
  Create();
  EXPECT_THAT(orchestrator_->Create(CreateRequest()),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(kName)));
  EXPECT_THAT(orchestrator_->Create({}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("parent")));
  for (const char* id : {"d2", "d3", "d4"}) Create(id);
  const absl::Status refused = orchestrator_->Create(CreateRequest("d5")).status();
  EXPECT_THAT(refused,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("2 diagnoses wait")));
  EXPECT_GT(RetryAfter(refused), absl::ZeroDuration());
  v1::CreateDiagnosisRequest other = CreateRequest("d");
  other.set_parent("tenants/other");
  EXPECT_THAT(orchestrator_->Create(other), IsOk());
  executor_.RunAll();
  EXPECT_EQ(world_.calls("Conclude"), 5);
  EXPECT_THAT(orchestrator_->Create(CreateRequest("d5")), IsOk());
}

TEST_F(OrchestratorTest, WhatWaitsForOneOrchestratorIsStartedByAnotherThatHasRoom) {
  for (const char* id : {"d", "d2", "d3", "d4"}) Create(id);
  const auto second = MakeOrchestrator("b");
  for (const auto& [id, owner] : {std::pair{"d", "a"}, {"d2", "a"}, {"d3", "b"}, {"d4", "b"}}) {
    EXPECT_THAT(
        log_->AcquireLease(absl::StrCat("tenants/t/diagnoses/", id), "x", clock_.Now(),
                           absl::Seconds(1)),
        StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(absl::StrCat(owner, " holds"))));
  }
  // The first one sees that, and that the tenant has room for two more.
  EXPECT_TRUE(absl::IsResourceExhausted(orchestrator_->Create(CreateRequest("d5")).status()));
  clock_.Advance(absl::Seconds(6));
  orchestrator_->Tick();
  for (const char* id : {"d5", "d6"}) Create(id);
  executor_.RunAll();
  EXPECT_EQ(world_.calls("Conclude"), 6);
}

TEST_F(OrchestratorTest, WaitsAsLongAsAnAgentAsksForWithinReason) {
  for (const auto& [asked, waited] :
       {std::pair{absl::Seconds(8), absl::Seconds(8)}, {absl::Hours(1), absl::Seconds(30)}}) {
    world_.failures["Summarize"] = {WithRetryAfter(absl::ResourceExhaustedError("busy"), asked)};
    const int before = world_.calls("Summarize");
    Create(absl::StrCat("d", absl::ToInt64Seconds(asked)));
    Pass(waited - absl::Milliseconds(200));
    EXPECT_EQ(world_.calls("Summarize"), before + 1);
    Pass(waited / 2 + absl::Milliseconds(300));
    EXPECT_EQ(world_.calls("Summarize"), before + 2);
  }
}

TEST_F(OrchestratorTest, RetriesWhatIsTransientAndSaysNothingOfItInTheReport) {
  for (const char* method : {"Summarize", "ResolveNodes", "ProposeFromHistory", "RankChildren",
                             "RunChecks", "Judge", "Critique", "Conclude"}) {
    world_.failures[method] = {absl::UnavailableError("restarting"),
                               absl::ResourceExhaustedError("busy")};
  }
  Create();
  Pass(absl::Seconds(20));
  const v1::Diagnosis diagnosis = Get();
  EXPECT_EQ(diagnosis.state(), v1::Diagnosis::SUCCEEDED);
  EXPECT_EQ(Count(v1::DiagnosisEvent::kCallFailed), 14);  // Summarize and ResolveNodes are one call
  EXPECT_THAT(diagnosis.report().notes(), Not(Contains(HasSubstr("failed"))));
  // After a broken stream the missing results are requested again; duplicates count once.
  EXPECT_EQ(Count(v1::DiagnosisEvent::kCheckCompleted), 2 * 6);
}

TEST_F(OrchestratorTest, WaitsBeforeItTriesAgain) {
  world_.failures["Summarize"] = {absl::UnavailableError("restarting")};
  Create();
  executor_.RunAll();
  EXPECT_EQ(world_.calls("Summarize"), 1);
  const absl::Duration wait = BackoffAfter("tenants/t/diagnoses/d", 1);
  Pass(wait - absl::Milliseconds(1));
  EXPECT_EQ(world_.calls("Summarize"), 1);
  Pass(absl::Milliseconds(1));
  EXPECT_EQ(world_.calls("Summarize"), 2);
}

TEST_F(OrchestratorTest, FailsWhenTheIncidentCannotBeSummarized) {
  world_.failures["ResolveNodes"] = {absl::NotFoundError("/b: no such bundle")};
  Create();
  executor_.RunAll();
  EXPECT_EQ(Get().state(), v1::Diagnosis::FAILED);
  EXPECT_EQ(Get().error().code(), static_cast<int>(absl::StatusCode::kNotFound));
  EXPECT_EQ(Get().error().message(), "/b: no such bundle");
}

TEST_F(OrchestratorTest, GoesOnWithoutTheAgentsThatFailAndSaysSo) {
  const absl::Status broken = absl::InternalError("broken");
  for (const char* method : {"ProposeFromHistory", "RankChildren", "Critique", "Explore"}) {
    world_.failures[method] = {broken};
  }
  Create();
  executor_.RunAll();
  EXPECT_EQ(Get().state(), v1::Diagnosis::AWAITING_FEEDBACK);
  for (const char* call : {"history/1", "rank/root/1", "critique/1", "explore/1"}) {
    EXPECT_THAT(Get().report().notes(),
                Contains(HasSubstr(absl::StrCat(call, " failed after 1 attempt: broken"))));
  }
}

TEST_F(OrchestratorTest, ChecksThatCannotBeRunAreErrorsForThemselvesOnly) {
  world_.failures["RunChecks"] = {absl::InternalError("broken")};
  Create();
  executor_.RunAll();
  int errors = 0;
  const v1::Diagnosis diagnosis = Get();
  for (const v1::CheckResult& result : diagnosis.check_results()) {
    if (result.status() != v1::CheckResult::ERROR) continue;
    ++errors;
    EXPECT_THAT(result.message(), HasSubstr("broken"));
  }
  EXPECT_EQ(errors, 3);  // c1 and c2 on two nodes, less the one that came before the break
  EXPECT_EQ(Get().state(), v1::Diagnosis::SUCCEEDED);
}

TEST_F(OrchestratorTest, AResultThatExecutionLeavesOutIsAnError) {
  world_.left_out = {"c4@n2"};
  Create();
  executor_.RunAll();
  EXPECT_EQ(Get().state(), v1::Diagnosis::SUCCEEDED);
  const v1::Diagnosis diagnosis = Get();
  for (const v1::CheckResult& result : diagnosis.check_results()) {
    EXPECT_EQ(result.status() == v1::CheckResult::ERROR, result.id() == "c4@n2") << result.id();
  }
}

TEST_F(OrchestratorTest, GivesUpACallThatIsNeverAnswered) {
  world_.silent = {"Judge"};
  Create();
  Pass(absl::Hours(1));
  EXPECT_EQ(Get().state(), v1::Diagnosis::AWAITING_FEEDBACK);
  EXPECT_THAT(Get().report().notes(), Contains(HasSubstr("judge/history/1 failed after 5")));
}

TEST_F(OrchestratorTest, CancelEndsItAndLateAnswersChangeNothing) {
  Create();
  v1::CancelDiagnosisRequest cancel;
  cancel.set_name(kName);
  cancel.set_reason("a mistake");
  EXPECT_EQ(orchestrator_->Cancel(cancel)->state(), v1::Diagnosis::CANCELLED);
  executor_.RunAll();
  EXPECT_EQ(Get().state(), v1::Diagnosis::CANCELLED);
  EXPECT_EQ(Get().last_sequence(), 2);
  EXPECT_THAT(orchestrator_->Cancel(cancel),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("CANCELLED")));
}

TEST_F(OrchestratorTest, CancelEndsTheChecksThatRun) {
  world_.silent = {"RunChecks"};
  Create();
  executor_.RunAll();
  ASSERT_GT(world_.calls("RunChecks"), 0);
  EXPECT_EQ(world_.calls("Cancel RunChecks"), 0);
  v1::CancelDiagnosisRequest cancel;
  cancel.set_name(kName);
  EXPECT_EQ(orchestrator_->Cancel(cancel)->state(), v1::Diagnosis::CANCELLED);
  EXPECT_EQ(world_.calls("Cancel RunChecks"), world_.calls("RunChecks"));
}

TEST_F(OrchestratorTest, FeedbackStartsAnotherRoundAndLooksAgain) {
  world_.truth.clear();
  world_.critique.clear();
  Create();
  executor_.RunAll();
  ASSERT_EQ(Get().state(), v1::Diagnosis::AWAITING_FEEDBACK);
  EXPECT_THAT(Get().report().ticket(), HasSubstr("were judged"));
  world_.truth["B.D.CAUSE"] = v1::Verdict::CONFIRMED;
  v1::SubmitFeedbackRequest feedback;
  feedback.set_name(kName);
  feedback.set_text("only since Monday");
  feedback.set_request_id("f1");
  EXPECT_EQ(orchestrator_->SubmitFeedback(feedback)->state(), v1::Diagnosis::RUNNING);
  EXPECT_THAT(orchestrator_->SubmitFeedback(feedback), IsOk());  // a repeat
  executor_.RunAll();
  const v1::Diagnosis diagnosis = Get();
  EXPECT_EQ(diagnosis.state(), v1::Diagnosis::SUCCEEDED);
  EXPECT_THAT(diagnosis.feedback(), ElementsAre("only since Monday"));
  EXPECT_EQ(diagnosis.summary().text(), "training is slow +1");
  EXPECT_THAT(world_.runs(), Each(Pair(::testing::_, 2)));
  // Also of one that is over.
  feedback.set_request_id("f2");
  EXPECT_EQ(orchestrator_->SubmitFeedback(feedback)->state(), v1::Diagnosis::RUNNING);
  feedback.set_request_id("f3");
  EXPECT_THAT(orchestrator_->SubmitFeedback(feedback),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("RUNNING")));
  executor_.RunAll();
  EXPECT_EQ(Get().state(), v1::Diagnosis::SUCCEEDED);
  EXPECT_THAT(world_.runs(), Each(Pair(::testing::_, 3)));
}

TEST_F(OrchestratorTest, EscalateWritesTheReportOfWhatIsKnown) {
  Create();
  v1::EscalateDiagnosisRequest escalate;
  escalate.set_name(kName);
  EXPECT_EQ(orchestrator_->Escalate(escalate)->state(), v1::Diagnosis::ESCALATED);
  executor_.RunAll();
  EXPECT_EQ(Get().state(), v1::Diagnosis::ESCALATED);
  EXPECT_TRUE(Get().has_report());
  EXPECT_EQ(world_.calls("ProposeFromHistory"), 0);
  EXPECT_THAT(orchestrator_->Escalate(escalate),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("ESCALATED")));
}

TEST_F(OrchestratorTest, ListsATenantsDiagnosesNewestFirst) {
  Create("d");
  executor_.RunAll();
  Create("d2");
  v1::ListDiagnosesRequest request;
  request.set_parent("tenants/t");
  request.set_page_size(1);
  const v1::ListDiagnosesResponse first = orchestrator_->List(request).value();
  ASSERT_EQ(first.diagnoses_size(), 1);
  EXPECT_EQ(first.diagnoses(0).name(), "tenants/t/diagnoses/d2");
  request.set_page_token(first.next_page_token());
  const v1::ListDiagnosesResponse second = orchestrator_->List(request).value();
  ASSERT_EQ(second.diagnoses_size(), 1);
  EXPECT_EQ(second.diagnoses(0).name(), kName);
  EXPECT_EQ(second.diagnoses(0).check_results_size(), 0);
  EXPECT_EQ(second.next_page_token(), "");
}

TEST_F(OrchestratorTest, UnknownNamesAreNotFound) {
  v1::GetDiagnosisRequest get;
  get.set_name("tenants/t/diagnoses/none");
  EXPECT_THAT(orchestrator_->Get(get), StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
  v1::SubmitFeedbackRequest feedback;
  feedback.set_name(get.name());
  feedback.set_text("x");
  EXPECT_THAT(orchestrator_->SubmitFeedback(feedback),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
  v1::CancelDiagnosisRequest cancel;
  cancel.set_name(get.name());
  EXPECT_THAT(orchestrator_->Cancel(cancel),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

TEST_F(OrchestratorTest, AFullExecutorDelaysButLosesNothing) {
  executor_.full = true;
  Create();
  Pass(absl::Seconds(1));
  EXPECT_EQ(Get().state(), v1::Diagnosis::PENDING);
  executor_.full = false;
  Pass(absl::Seconds(1));
  EXPECT_EQ(Get().state(), v1::Diagnosis::SUCCEEDED);
}

TEST_F(OrchestratorTest, KeepsItsLeaseForAsLongAsItRuns) {
  world_.silent = {"Summarize"};
  Create();
  Pass(absl::Seconds(40));
  EXPECT_THAT(log_->ListOrphans(clock_.Now()).value(), IsEmpty());
  EXPECT_THAT(log_->AcquireLease(kName, "b", clock_.Now(), absl::Seconds(1)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("a holds the lease")));
}

TEST_F(OrchestratorTest, AnotherTakesOverWhenTheLeaseExpiredAndTheFirstIsFenced) {
  world_.silent = {"Summarize"};
  Create();
  executor_.RunAll();
  clock_.Advance(absl::Seconds(16));  // the first sleeps: no Tick()
  world_.silent.clear();
  const std::unique_ptr<Orchestrator> second = MakeOrchestrator("b");
  const std::int64_t before = Get().last_sequence();
  // The store refuses further writes of the first one, which then releases the diagnosis.
  v1::CancelDiagnosisRequest cancel;
  cancel.set_name(kName);
  EXPECT_THAT(orchestrator_->Cancel(cancel),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no longer the newest")));
  EXPECT_EQ(static_cast<std::int64_t>(Events().size()), before);
  EXPECT_THAT(orchestrator_->Cancel(cancel),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("b holds the lease")));
  executor_.RunAll();
  EXPECT_EQ(Get().state(), v1::Diagnosis::SUCCEEDED);
  EXPECT_THAT(world_.runs(), Each(Pair(::testing::_, 1)));
}

TEST_F(OrchestratorTest, ARestartGoesOnAtOnceWithWhatItsFormerSelfHeld) {
  world_.silent = {"Summarize"};
  Create();
  executor_.RunAll();
  world_.silent.clear();
  // Another owner leaves the lease alone while it holds; the same owner takes it back.
  const std::unique_ptr<Orchestrator> other = MakeOrchestrator("b");
  executor_.RunAll();
  EXPECT_EQ(Get().state(), v1::Diagnosis::PENDING);
  const std::unique_ptr<Orchestrator> restarted = MakeOrchestrator("a");
  executor_.RunAll();
  EXPECT_EQ(restarted
                ->Get([] {
                  v1::GetDiagnosisRequest request;
                  request.set_name(kName);
                  return request;
                }())
                ->state(),
            v1::Diagnosis::SUCCEEDED);
}

TEST_F(OrchestratorTest, EndingGivesTheLeasesBack) {
  world_.silent = {"Summarize"};
  Create();
  orchestrator_.reset();
  EXPECT_THAT(log_->ListOrphans(clock_.Now()).value(), ElementsAre(kName));
}

TEST_F(OrchestratorTest, DoesNotTouchADiagnosisThatAwaitsFeedback) {
  world_.truth.clear();
  world_.critique.clear();
  Create();
  executor_.RunAll();
  ASSERT_EQ(Get().state(), v1::Diagnosis::AWAITING_FEEDBACK);
  const std::int64_t last = Get().last_sequence();
  Pass(absl::Minutes(1));
  EXPECT_EQ(Get().last_sequence(), last);
  EXPECT_THAT(log_->ListOrphans(clock_.Now()).value(), IsEmpty());
}

}  // namespace
}  // namespace galen::orchestrator
