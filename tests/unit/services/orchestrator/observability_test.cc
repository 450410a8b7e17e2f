// The observability of an orchestrator: counters, and the trace that a diagnosis belongs to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/observability/metrics/registry.h"
#include "common/observability/trace/trace.h"
#include "common/store/sqlite_event_log.h"
#include "services/orchestrator/admission.h"
#include "services/orchestrator/orchestrator.h"
#include "services/orchestrator/orchestrator_metrics.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/orchestrator/events.h"
#include "tests/unit/services/orchestrator/fake_agents.h"

namespace galen::orchestrator {
namespace observability_test {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kName[] = "tenants/t/diagnoses/d";
constexpr char kTrace[] = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr char kOther[] = "5bf92f3577b34da6a3ce929d0e0e4736";

trace::Work WorkIn(const char* trace_id) { return {trace::InTrace(trace_id).value(), ""}; }

// Agents that note what their calls belong to.
class TracedAgents final : public clients::ReflectionClient {
 public:
  explicit TracedAgents(clients::ReflectionClient& real) : real_(real) {}
  void Judge(clients::Shared<reflection::v1::JudgeRequest> request, absl::Time deadline,
             clients::Done<reflection::v1::JudgeResponse> done) override {
    traces.insert(trace::TraceIdOf(trace::Current().context));
    diagnoses.insert(trace::Current().diagnosis);
    spans.insert(trace::Format(trace::Current().context));
    real_.Judge(std::move(request), deadline, std::move(done));
  }
  void Critique(clients::Shared<reflection::v1::CritiqueRequest> request, absl::Time deadline,
                clients::Done<reflection::v1::CritiqueResponse> done) override {
    real_.Critique(std::move(request), deadline, std::move(done));
  }
  std::set<std::string> traces;
  std::set<std::string> diagnoses;
  std::set<std::string> spans;

 private:
  clients::ReflectionClient& real_;
};

class ObservabilityTest : public ::testing::Test {
 protected:
  ObservabilityTest() {
    MakeTieredWorld(world_);
    orchestrator_ = MakeOrchestrator("a");
  }
  std::unique_ptr<Orchestrator> MakeOrchestrator(const std::string& owner) {
    Options options;
    options.owner = owner;
    options.own_timer = false;
    options.max_running = 1;
    options.tenant_running = 1;
    options.tenant_waiting = 1;
    options.on_lifecycle_event = [this](absl::string_view told) {
      news_.push_back(absl::StrCat(trace::Current().diagnosis, " ",
                                   trace::TraceIdOf(trace::Current().context), " ", told));
    };
    Agents agents = world_.agents();
    auto orchestrator =
        std::make_unique<Orchestrator>(*log_,
                                       Agents{agents.summarization, agents.planning,
                                              agents.execution, reflection_, agents.conclusion},
                                       clock_, executor_, options);
    EXPECT_THAT(orchestrator->Start(), IsOk());
    return orchestrator;
  }
  absl::Status Create(const std::string& id = "d", const std::string& tenant = "t") {
    v1::CreateDiagnosisRequest request;
    request.set_parent("tenants/" + tenant);
    request.set_diagnosis_id(id);
    request.mutable_diagnosis()->mutable_incident()->set_description("training is slow");
    return orchestrator_->Create(request).status();
  }
  std::vector<std::string> Traces() {
    std::vector<std::string> traces;
    const auto events = log_->Read(kName, 0, 10'000);
    for (const v1::DiagnosisEvent& event : *events) {
      traces.push_back(event.trace_id());
    }
    return traces;
  }
  std::string Text() {
    metrics::Registry registry;
    registry.Add(orchestrator_->metrics());
    return registry.Text();
  }

  const std::unique_ptr<store::EventLog> log_ = store::SqliteEventLog::Open(":memory:").value();
  FakeAgents world_;
  TracedAgents reflection_{world_};
  FakeClock clock_;
  ManualExecutor executor_;
  std::vector<std::string> news_;
  std::unique_ptr<Orchestrator> orchestrator_;
};

TEST_F(ObservabilityTest, EveryEventAndCallBelongsToTheTraceOfTheRequest) {
  {
    const trace::Scope scope(WorkIn(kTrace));
    ASSERT_THAT(Create(), IsOk());
  }
  executor_.RunAll();
  EXPECT_THAT(Traces(), SizeIs(::testing::Gt(5)));
  EXPECT_THAT(Traces(), Each(kTrace));
  EXPECT_THAT(reflection_.traces, ElementsAre(kTrace));
  EXPECT_THAT(reflection_.diagnoses, ElementsAre(kName));
  EXPECT_THAT(reflection_.spans, SizeIs(::testing::Gt(1)));  // each step is a piece of work
  v1::GetDiagnosisRequest get;
  get.set_name(kName);
  EXPECT_EQ(orchestrator_->Get(get)->trace_id(), kTrace);
  EXPECT_THAT(
      news_,
      ElementsAre(absl::StrCat(kName, " ", kTrace, " accepted, strategy tiered"),
                  ::testing::StartsWith(absl::StrCat(kName, " ", kTrace, " SUCCEEDED after 0, "))));
}

TEST_F(ObservabilityTest, ARequestWithoutATraceBeginsOne) {
  ASSERT_THAT(Create(), IsOk());
  executor_.RunAll();
  const std::vector<std::string> traces = Traces();
  EXPECT_EQ(traces.front().size(), 32u);
  EXPECT_THAT(traces, Each(traces.front()));
}

TEST_F(ObservabilityTest, WhatAPersonDoesBelongsToItsOwnRequest) {
  {
    const trace::Scope scope(WorkIn(kTrace));
    ASSERT_THAT(Create(), IsOk());
  }
  {
    const trace::Scope scope(WorkIn(kOther));
    v1::CancelDiagnosisRequest cancel;
    cancel.set_name(kName);
    ASSERT_THAT(orchestrator_->Cancel(cancel), IsOk());
  }
  EXPECT_EQ(Traces().front(), kTrace);
  EXPECT_EQ(Traces().back(), kOther);
}

TEST_F(ObservabilityTest, AnotherOrchestratorGoesOnInTheSameTrace) {
  {
    const trace::Scope scope(WorkIn(kTrace));
    ASSERT_THAT(Create(), IsOk());
  }
  orchestrator_.reset();
  executor_.RunAll();
  EXPECT_THAT(reflection_.traces, ::testing::IsEmpty());
  orchestrator_ = MakeOrchestrator("b");
  executor_.RunAll();
  EXPECT_THAT(reflection_.traces, ElementsAre(kTrace));
  EXPECT_THAT(Traces(), Each(kTrace));
}

TEST_F(ObservabilityTest, ARunningDiagnosisTellsItsSteps) {
  world_.silent = {"RunChecks"};
  ASSERT_THAT(Create(), IsOk());
  executor_.RunAll();
  v1::ListDiagnosesRequest list;
  list.set_parent("tenants/t");
  const v1::Diagnosis diagnosis = orchestrator_->List(list)->diagnoses(0);
  EXPECT_THAT(diagnosis.steps(), Contains(::testing::StartsWith("checks/")));
  EXPECT_GT(diagnosis.pending_checks(), 0);
}

TEST_F(ObservabilityTest, CountsWhatItAcceptsRefusesAndEnds) {
  world_.silent = {"RunChecks"};
  ASSERT_THAT(Create("d1"), IsOk());
  ASSERT_THAT(Create("d2"), IsOk());
  executor_.RunAll();
  EXPECT_THAT(Create("d3"), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("")));
  EXPECT_THAT(Text(), HasSubstr("galen_diagnoses{state=\"running\",tenant=\"t\"} 1\n"));
  EXPECT_THAT(Text(), HasSubstr("galen_diagnoses{state=\"waiting\",tenant=\"t\"} 1\n"));
  EXPECT_THAT(Text(), HasSubstr("galen_leases_held 1\n"));
  v1::CancelDiagnosisRequest cancel;
  cancel.set_name("tenants/t/diagnoses/d1");
  ASSERT_THAT(orchestrator_->Cancel(cancel), IsOk());
  const std::string text = Text();
  for (const char* line : {
           "galen_diagnoses_created_total{tenant=\"t\"} 2\n",
           "galen_diagnoses_shed_total{tenant=\"t\"} 1\n",
           "galen_diagnoses_ended_total{state=\"CANCELLED\"} 1\n",
           "galen_diagnoses_ended_total{state=\"SUCCEEDED\"} 0\n",
           "galen_diagnosis_seconds_count{state=\"CANCELLED\"} 1\n",
           "galen_leases_lost_total 0\n",
           "galen_store_append_failures_total 0\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(ObservabilityTest, CountsAStepThatFailsAndALeaseThatIsLost) {
  world_.failures["Summarize"] = {absl::UnavailableError("restarting")};
  world_.silent = {"RunChecks"};
  ASSERT_THAT(Create(), IsOk());
  executor_.RunAll();
  EXPECT_THAT(Text(), HasSubstr("galen_step_failures_total{step=\"summarize\"} 1\n"));
  // It goes silent for longer than its lease, and another one takes it.
  clock_.Advance(absl::Minutes(2));
  const auto other = MakeOrchestrator("b");
  executor_.RunAll();
  orchestrator_->Tick();
  executor_.RunAll();
  EXPECT_THAT(Text(), HasSubstr("galen_leases_lost_total 1\n"));
}

TEST_F(ObservabilityTest, IsSilentOnceItIsGone) {
  metrics::Registry registry;
  registry.Add(orchestrator_->metrics());
  EXPECT_NE(registry.Text(), "");
  orchestrator_.reset();
  EXPECT_EQ(registry.Text(), "");
}

TEST(OrchestratorFamilies, ATenantWithoutNumbersOfItsOwnIsToldAmongTheOthers) {
  OrchestratorCounters counters;
  for (std::size_t i = 0; i < OrchestratorCounters::kMostTenants; ++i) {
    counters.tenants.Of(absl::StrCat("t", i)).created.Add();
  }
  counters.tenants.Of("late").created.Add();
  counters.tenants.Of("later").created.Add();
  const auto families =
      OrchestratorFamilies(counters, {{"late", 3, 1}, {"later", 2, 0}, {"t0", 1, 0}}, 6);
  metrics::Registry registry;
  registry.Add(metrics::SourceOf([&] { return families; }));
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("galen_diagnoses{state=\"running\",tenant=\"(other)\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("galen_diagnoses{state=\"waiting\",tenant=\"(other)\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("galen_diagnoses{state=\"running\",tenant=\"t0\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("galen_diagnoses_created_total{tenant=\"(other)\"} 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("late")));
}

TEST(Admission, TellsTheTurnsOfEachTenant) {
  Admission admission({.running = 2, .tenant_running = 1, .tenant_waiting = 10});
  for (const char* name :
       {"tenants/a/diagnoses/1", "tenants/a/diagnoses/2", "tenants/b/diagnoses/1"}) {
    admission.Wait(name);
  }
  while (admission.Next()) {
  }
  const std::vector<Admission::Turns> turns = admission.AllTurns();
  ASSERT_EQ(turns.size(), 2u);
  EXPECT_EQ(turns[0].tenant, "a");
  EXPECT_EQ(turns[0].running, 1u);
  EXPECT_EQ(turns[0].waiting, 1u);
  EXPECT_EQ(turns[1].running, 1u);
}

}  // namespace observability_test
}  // namespace galen::orchestrator
