// The time of day is set while diagnoses run. Waits do not notice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/store/sqlite_event_log.h"
#include "services/orchestrator/orchestrator.h"
#include "services/orchestrator/retry.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/orchestrator/fake_agents.h"

namespace galen::orchestrator {
namespace set_clock_test {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;

constexpr char kName[] = "tenants/t/diagnoses/d";

class SetClockTest : public ::testing::Test {
 protected:
  SetClockTest() {
    MakeTieredWorld(world_);
    Begin();
  }
  void Begin() {
    Options options;
    options.owner = "a";
    options.own_timer = false;
    options.steady = &steady_;
    orchestrator_.reset();
    orchestrator_ =
        std::make_unique<Orchestrator>(*log_, world_.agents(), clock_, executor_, options);
    ASSERT_THAT(orchestrator_->Start(), IsOk());
    executor_.RunAll();
  }
  void Create() {
    v1::CreateDiagnosisRequest request;
    request.set_parent("tenants/t");
    request.set_diagnosis_id("d");
    request.mutable_diagnosis()->mutable_incident()->set_description("training is slow");
    ASSERT_THAT(orchestrator_->Create(request), IsOk());
    executor_.RunAll();
  }
  v1::Diagnosis::State State() {
    v1::GetDiagnosisRequest request;
    request.set_name(kName);
    return orchestrator_->Get(request).value().state();
  }
  void Pass(absl::Duration time) {
    clock_.Advance(time);
    steady_.Advance(time);
    orchestrator_->Tick();
    executor_.RunAll();
  }

  const std::unique_ptr<store::EventLog> log_ = store::SqliteEventLog::Open(":memory:").value();
  FakeAgents world_;
  FakeClock clock_;
  FakeClock steady_{absl::UnixEpoch()};
  ManualExecutor executor_;
  std::unique_ptr<Orchestrator> orchestrator_;
};

TEST_F(SetClockTest, ARetryIsMadeInTimeThoughTheClockWasSetBack) {
  world_.failures["Summarize"] = {absl::UnavailableError("restarting")};
  Create();
  ASSERT_EQ(State(), v1::Diagnosis::RUNNING);
  clock_.Advance(-absl::Minutes(10));
  Pass(absl::Milliseconds(301));  // the first wait is 200 ms and half of that, at most
  EXPECT_EQ(State(), v1::Diagnosis::SUCCEEDED);
}

TEST_F(SetClockTest, ARetryReadFromTheLogWaitsNoLongerThanAnyDoes) {
  world_.failures["Summarize"] = {absl::UnavailableError("restarting")};
  Create();
  clock_.Advance(-absl::Minutes(10));
  Begin();
  ASSERT_EQ(State(), v1::Diagnosis::RUNNING);
  Pass(kLongestBackoff);
  EXPECT_EQ(State(), v1::Diagnosis::SUCCEEDED);
}

TEST_F(SetClockTest, ACallThatIsNeverAnsweredIsGivenUpInTimeThoughTheClockWasSetBack) {
  world_.silent = {"Summarize"};
  Create();
  const int calls = world_.calls("Summarize");
  clock_.Advance(-absl::Hours(1));
  Pass(absl::Minutes(11));  // 10 of them are the limit
  Pass(absl::Seconds(1));
  EXPECT_GT(world_.calls("Summarize"), calls);
}

TEST_F(SetClockTest, ALeaseIsRenewedInTimeThoughTheClockWasSetBack) {
  world_.silent = {"Summarize"};
  Create();
  clock_.Advance(-absl::Minutes(10));
  Pass(absl::Seconds(8));  // half of its life and more
  // By the present clock it ends 15 s after that; earlier requests are refused.
  EXPECT_THAT(log_->AcquireLease(kName, "b", clock_.Now() + absl::Seconds(14), absl::Seconds(15)),
              StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::_));
  EXPECT_THAT(log_->AcquireLease(kName, "b", clock_.Now() + absl::Seconds(16), absl::Seconds(15)),
              IsOk());
}

}  // namespace set_clock_test
}  // namespace galen::orchestrator
