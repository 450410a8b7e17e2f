#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "common/store/sqlite_event_log.h"
#include "services/orchestrator/orchestrator.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/orchestrator/fake_agents.h"

namespace galen::orchestrator {
namespace watch_test {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;

constexpr char kName[] = "tenants/t/diagnoses/d";

v1::CreateDiagnosisRequest CreateRequest(const std::string& id = "d") {
  v1::CreateDiagnosisRequest request;
  request.set_parent("tenants/t");
  request.set_diagnosis_id(id);
  request.mutable_diagnosis()->mutable_incident()->set_description("training is slow");
  return request;
}

v1::WatchDiagnosisRequest After(std::int64_t sequence, const std::string& name = kName) {
  v1::WatchDiagnosisRequest request;
  request.set_name(name);
  request.set_after_sequence(sequence);
  return request;
}

class WatchTest : public ::testing::Test {
 protected:
  WatchTest() {
    MakeTieredWorld(world_);
    Options options;
    options.own_timer = false;
    orchestrator_ =
        std::make_unique<Orchestrator>(*log_, world_.agents(), clock_, executor_, options);
    EXPECT_THAT(orchestrator_->Start(), IsOk());
  }
  std::int64_t Next(std::int64_t after, const std::string& name = kName) {
    return orchestrator_->WatchNext(After(after, name), [this](absl::StatusOr<EventBatch> batch) {
      batches_.push_back(std::move(batch));
    });
  }

  const std::unique_ptr<store::EventLog> log_ = store::SqliteEventLog::Open(":memory:").value();
  FakeAgents world_;
  FakeClock clock_;
  std::vector<absl::StatusOr<EventBatch>> batches_;  // outlives the tasks that notify it
  ManualExecutor executor_;
  std::unique_ptr<Orchestrator> orchestrator_;
};

TEST_F(WatchTest, IsToldToGoElsewhereWhenTheOrchestratorEndsBeforeItsTurn) {
  ASSERT_THAT(orchestrator_->Create(CreateRequest()), IsOk());
  Next(0);
  orchestrator_->EndWatches();
  orchestrator_.reset();
  executor_.RunAll();
  ASSERT_EQ(batches_.size(), 1u);
  EXPECT_THAT(batches_[0], StatusIs(absl::StatusCode::kUnavailable, HasSubstr("elsewhere")));
}

TEST_F(WatchTest, GivesWhatIsThereAndThenTheRestToTheEnd) {
  ASSERT_THAT(orchestrator_->Create(CreateRequest()), IsOk());
  Next(0);
  std::int64_t seen = 0;
  for (int i = 0; i < 1000 && batches_.size() < 1000; ++i) {
    executor_.RunAll();
    ASSERT_FALSE(batches_.empty());
    ASSERT_THAT(batches_.back(), IsOk());
    for (const v1::DiagnosisEvent& event : batches_.back()->events) {
      ASSERT_EQ(event.sequence(), ++seen);
    }
    if (batches_.back()->ended) break;
    Next(seen);
  }
  EXPECT_TRUE(batches_.back()->ended);
  EXPECT_EQ(seen, static_cast<std::int64_t>(log_->Read(kName, 0, 10'000).value().size()));
}

TEST_F(WatchTest, WaitsForTheNextEventWithoutAThread) {
  world_.silent = {"Summarize"};
  ASSERT_THAT(orchestrator_->Create(CreateRequest()), IsOk());
  Next(1);
  executor_.RunAll();
  EXPECT_TRUE(batches_.empty());
  v1::CancelDiagnosisRequest cancel;
  cancel.set_name(kName);
  ASSERT_THAT(orchestrator_->Cancel(cancel), IsOk());
  executor_.RunAll();
  ASSERT_EQ(batches_.size(), 1u);
  ASSERT_EQ(batches_[0]->events.size(), 1u);
  EXPECT_TRUE(batches_[0]->events[0].has_cancelled());
  EXPECT_TRUE(batches_[0]->ended);
}

TEST_F(WatchTest, EndsAtOnceWhenAllIsSeenAndItIsOver) {
  ASSERT_THAT(orchestrator_->Create(CreateRequest()), IsOk());
  executor_.RunAll();
  v1::GetDiagnosisRequest get;
  get.set_name(kName);
  Next(orchestrator_->Get(get)->last_sequence());
  executor_.RunAll();
  ASSERT_EQ(batches_.size(), 1u);
  EXPECT_TRUE(batches_[0]->events.empty());
  EXPECT_TRUE(batches_[0]->ended);
}

TEST_F(WatchTest, RefusesAPlaceBeyondTheLogAndAnUnknownName) {
  ASSERT_THAT(orchestrator_->Create(CreateRequest()), IsOk());
  Next(1'000);
  Next(0, "tenants/t/diagnoses/none");
  executor_.RunAll();
  ASSERT_EQ(batches_.size(), 2u);
  EXPECT_THAT(batches_[0], StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("1000")));
  EXPECT_THAT(batches_[1], StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

TEST_F(WatchTest, StopsWaitingWhenTold) {
  world_.silent = {"Summarize"};
  ASSERT_THAT(orchestrator_->Create(CreateRequest()), IsOk());
  const std::int64_t ticket = Next(1);
  executor_.RunAll();
  orchestrator_->StopWatching(ticket);
  v1::CancelDiagnosisRequest cancel;
  cancel.set_name(kName);
  ASSERT_THAT(orchestrator_->Cancel(cancel), IsOk());
  executor_.RunAll();
  EXPECT_TRUE(batches_.empty());
}

TEST_F(WatchTest, EndsWithUnavailableWhenTheServerDrains) {
  world_.silent = {"Summarize"};
  ASSERT_THAT(orchestrator_->Create(CreateRequest()), IsOk());
  Next(1);
  executor_.RunAll();
  orchestrator_->EndWatches();
  ASSERT_EQ(batches_.size(), 1u);
  EXPECT_THAT(batches_[0], StatusIs(absl::StatusCode::kUnavailable, HasSubstr("shuts down")));
  Next(1);
  executor_.RunAll();
  ASSERT_EQ(batches_.size(), 2u);
  EXPECT_THAT(batches_[1], StatusIs(absl::StatusCode::kUnavailable, HasSubstr("shuts down")));
}

TEST_F(WatchTest, SeesTheEventsOfAnotherOrchestrator) {
  world_.silent = {"Summarize"};
  Options options;
  options.owner = "other";
  options.own_timer = false;
  Orchestrator other(*log_, world_.agents(), clock_, executor_, options);
  ASSERT_THAT(other.Create(CreateRequest()), IsOk());
  Next(1);
  executor_.RunAll();
  EXPECT_TRUE(batches_.empty());
  v1::CancelDiagnosisRequest cancel;
  cancel.set_name(kName);
  ASSERT_THAT(other.Cancel(cancel), IsOk());
  clock_.Advance(absl::Seconds(1));
  orchestrator_->Tick();
  executor_.RunAll();
  ASSERT_EQ(batches_.size(), 1u);
  EXPECT_TRUE(batches_[0]->ended);
}

// The whole of it on real threads: many diagnoses, each watched, answers on any thread.
TEST(WatchThreads, FollowsManyDiagnosesThatRunAtTheSameTime) {
  constexpr int kDiagnoses = 8;
  const auto log = store::SqliteEventLog::Open(":memory:").value();
  const SystemClock clock;
  ThreadPool executor(/*threads=*/4, /*max_queued=*/10'000);
  FakeAgents world(&executor);
  MakeTieredWorld(world);
  world.failures["Judge"] = {absl::UnavailableError("restarting")};
  for (int i = 3; i <= 100; ++i) world.nodes.push_back("n" + std::to_string(i));
  Orchestrator orchestrator(*log, world.agents(), clock, executor, Options());
  ASSERT_THAT(orchestrator.Start(), IsOk());
  std::vector<std::thread> watchers;
  std::vector<absl::Status> ends(kDiagnoses);
  std::vector<std::int64_t> seen(kDiagnoses);
  for (int i = 0; i < kDiagnoses; ++i) {
    const std::string id = std::string(1, static_cast<char>('a' + i));
    ASSERT_THAT(orchestrator.Create(CreateRequest(id)), IsOk());
    watchers.emplace_back([&, i, id] {
      ends[i] = orchestrator.Watch(
          After(0, "tenants/t/diagnoses/" + id),
          [&, i](const v1::DiagnosisEvent& event) { return event.sequence() == ++seen[i]; });
    });
  }
  for (std::thread& watcher : watchers) watcher.join();
  for (int i = 0; i < kDiagnoses; ++i) {
    EXPECT_THAT(ends[i], IsOk());
    v1::GetDiagnosisRequest get;
    get.set_name("tenants/t/diagnoses/" + std::string(1, static_cast<char>('a' + i)));
    const v1::Diagnosis diagnosis = orchestrator.Get(get).value();
    EXPECT_EQ(diagnosis.state(), v1::Diagnosis::SUCCEEDED);
    EXPECT_EQ(diagnosis.last_sequence(), seen[i]);
    // The end of a stream of results never overtakes a result.
    EXPECT_EQ(diagnosis.check_results_size(), 6 * 100);
    for (const v1::CheckResult& result : diagnosis.check_results()) {
      ASSERT_EQ(result.status(), v1::CheckResult::FAIL) << result.DebugString();
    }
  }
}

}  // namespace watch_test
}  // namespace galen::orchestrator
