#ifndef TESTS_UNIT_SERVICES_ORCHESTRATOR_ORCHESTRATOR_FIXTURE_H_
#define TESTS_UNIT_SERVICES_ORCHESTRATOR_ORCHESTRATOR_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "common/store/sqlite_event_log.h"
#include "services/orchestrator/orchestrator.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/orchestrator/fake_agents.h"

namespace galen::orchestrator {

// An orchestrator whose agents answer from a synthetic world, and whose clock is advanced by the
// test.
class OrchestratorTest : public ::testing::Test {
 protected:
  static constexpr char kName[] = "tenants/t/diagnoses/d";

  static v1::CreateDiagnosisRequest CreateRequest(const std::string& id = "d") {
    v1::CreateDiagnosisRequest request;
    request.set_parent("tenants/t");
    request.set_diagnosis_id(id);
    request.mutable_diagnosis()->mutable_incident()->set_description("training is slow");
    return request;
  }

  OrchestratorTest() { MakeTieredWorld(world_); }

  std::unique_ptr<Orchestrator> MakeOrchestrator(const std::string& owner) {
    Options options;
    options.owner = owner;
    options.own_timer = false;
    options.max_running = 2;
    options.tenant_running = 2;
    options.tenant_waiting = 2;
    options.on_problem = [this](absl::string_view, const absl::Status& problem) {
      problems_.push_back(std::string(problem.message()));
    };
    options.on_confirmed = [this](const v1::Diagnosis& diagnosis) {
      confirmed_.push_back(diagnosis.confirmation().label());
      return confirmed_error_;
    };
    options.on_cause = [this](const v1::Diagnosis& diagnosis) {
      causes_.push_back(diagnosis.report().primary_cause().label());
      over_when_told_ = log_->ListOrphans(absl::InfiniteFuture()).value().empty();
      return cause_error_;
    };
    auto orchestrator =
        std::make_unique<Orchestrator>(*log_, world_.agents(), clock_, executor_, options);
    EXPECT_THAT(orchestrator->Start(), galen::testing::IsOk());
    return orchestrator;
  }
  void Create(const std::string& id = "d") {
    ASSERT_THAT(orchestrator_->Create(CreateRequest(id)), galen::testing::IsOk());
  }
  v1::Diagnosis Get() {
    v1::GetDiagnosisRequest request;
    request.set_name(kName);
    return orchestrator_->Get(request).value();
  }
  // Lets everything happen that happens within `time`.
  void Pass(absl::Duration time) {
    executor_.RunAll();
    for (absl::Duration left = time; left > absl::ZeroDuration(); left -= absl::Milliseconds(100)) {
      clock_.Advance(std::min(left, absl::Milliseconds(100)));
      orchestrator_->Tick();
      executor_.RunAll();
    }
  }
  std::vector<v1::DiagnosisEvent> Events() { return log_->Read(kName, 0, 10'000).value(); }
  int Count(v1::DiagnosisEvent::EventCase kind) {
    int count = 0;
    for (const v1::DiagnosisEvent& event : Events()) count += event.event_case() == kind ? 1 : 0;
    return count;
  }

  const std::unique_ptr<store::EventLog> log_ = store::SqliteEventLog::Open(":memory:").value();
  FakeAgents world_;
  FakeClock clock_;
  ManualExecutor executor_;
  std::vector<std::string> problems_;
  std::vector<std::string> confirmed_;  // labels, as they were passed on
  absl::Status confirmed_error_;
  std::vector<std::string> causes_;  // that were told when a diagnosis came to rest
  bool over_when_told_ = false;
  absl::Status cause_error_;
  std::unique_ptr<Orchestrator> orchestrator_ = MakeOrchestrator("a");
};

}  // namespace galen::orchestrator

#endif  // TESTS_UNIT_SERVICES_ORCHESTRATOR_ORCHESTRATOR_FIXTURE_H_
