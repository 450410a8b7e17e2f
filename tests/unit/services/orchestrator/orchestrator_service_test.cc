#include "services/orchestrator/orchestrator_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/clock.h"
#include "common/rpc/status.h"
#include "common/store/sqlite_event_log.h"
#include "tests/testing/rpc/in_process_server.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/orchestrator/fake_agents.h"

namespace galen::orchestrator {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;

class OrchestratorServiceTest : public ::testing::Test {
 protected:
  OrchestratorServiceTest() {
    MakeTieredWorld(world_);
    EXPECT_THAT(orchestrator_.Start(), IsOk());
  }
  absl::StatusOr<v1::Diagnosis> Create(const std::string& description) {
    v1::CreateDiagnosisRequest request;
    request.set_parent("tenants/t");
    request.set_diagnosis_id("d");
    request.mutable_diagnosis()->mutable_incident()->set_description(description);
    v1::Diagnosis diagnosis;
    grpc::ClientContext context;
    const grpc::Status status = stub_->CreateDiagnosis(&context, request, &diagnosis);
    if (!status.ok()) return rpc::FromGrpcStatus(status);
    return diagnosis;
  }
  absl::Status Watch(std::int64_t after, std::vector<v1::DiagnosisEvent>& events) {
    v1::WatchDiagnosisRequest request;
    request.set_name("tenants/t/diagnoses/d");
    request.set_after_sequence(after);
    grpc::ClientContext context;
    const auto stream = stub_->WatchDiagnosis(&context, request);
    v1::DiagnosisEvent event;
    while (stream->Read(&event)) events.push_back(event);
    return rpc::FromGrpcStatus(stream->Finish());
  }

  const std::unique_ptr<store::EventLog> log_ = store::SqliteEventLog::Open(":memory:").value();
  const SystemClock clock_;
  FakeAgents world_;
  ThreadPool executor_{/*threads=*/2, /*max_queued=*/1000};
  Orchestrator orchestrator_{*log_, world_.agents(), clock_, executor_, Options()};
  OrchestratorServiceImpl service_{orchestrator_, executor_};
  galen::testing::InProcessServer server_{service_};
  const std::unique_ptr<v1::DiagnosisService::Stub> stub_ =
      v1::DiagnosisService::NewStub(server_.channel());
};

TEST_F(OrchestratorServiceTest, StreamsADiagnosisFromBeginningToEnd) {
  ASSERT_THAT(Create("training is slow"), IsOk());
  std::vector<v1::DiagnosisEvent> events;
  EXPECT_THAT(Watch(0, events), IsOk());
  ASSERT_FALSE(events.empty());
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].sequence(), static_cast<std::int64_t>(i) + 1);
  }
  EXPECT_TRUE(events.front().has_created());
  EXPECT_TRUE(events.back().has_concluded());

  std::vector<v1::DiagnosisEvent> rest;
  EXPECT_THAT(Watch(events.back().sequence() - 1, rest), IsOk());
  EXPECT_EQ(rest.size(), 1u);
  EXPECT_THAT(Watch(1'000'000, rest), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("beyond")));
}

TEST_F(OrchestratorServiceTest, StreamsMoreThanFitsIntoABatch) {
  for (int i = 0; i < 200; ++i) world_.nodes.push_back("node-" + std::to_string(i));
  ASSERT_THAT(Create("training is slow"), IsOk());
  std::vector<v1::DiagnosisEvent> events;
  EXPECT_THAT(Watch(0, events), IsOk());
  EXPECT_GT(events.size(), 3u * kWatchBatch);
  for (std::size_t i = 0; i < events.size(); ++i) {
    ASSERT_EQ(events[i].sequence(), static_cast<std::int64_t>(i) + 1);
  }
}

TEST_F(OrchestratorServiceTest, AClientThatGoesAwayIsForgotten) {
  world_.silent = {"Summarize"};
  ASSERT_THAT(Create("training is slow"), IsOk());
  v1::WatchDiagnosisRequest request;
  request.set_name("tenants/t/diagnoses/d");
  grpc::ClientContext context;
  const auto stream = stub_->WatchDiagnosis(&context, request);
  v1::DiagnosisEvent event;
  ASSERT_TRUE(stream->Read(&event));
  context.TryCancel();
  while (stream->Read(&event)) {
  }
  EXPECT_THAT(rpc::FromGrpcStatus(stream->Finish()),
              StatusIs(absl::StatusCode::kCancelled, ::testing::_));
}

TEST_F(OrchestratorServiceTest, DrainingEndsTheStreams) {
  world_.silent = {"Summarize"};
  ASSERT_THAT(Create("training is slow"), IsOk());
  v1::WatchDiagnosisRequest request;
  request.set_name("tenants/t/diagnoses/d");
  grpc::ClientContext context;
  const auto stream = stub_->WatchDiagnosis(&context, request);
  v1::DiagnosisEvent event;
  ASSERT_TRUE(stream->Read(&event));
  orchestrator_.EndWatches();
  while (stream->Read(&event)) {
  }
  EXPECT_THAT(rpc::FromGrpcStatus(stream->Finish()),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("shuts down")));
}

TEST_F(OrchestratorServiceTest, AnErrorKeepsItsCodeAndMessage) {
  EXPECT_THAT(Create(""), StatusIs(absl::StatusCode::kInvalidArgument,
                                   HasSubstr("diagnosis.incident.description: is empty")));
  v1::GetDiagnosisRequest get;
  get.set_name("tenants/t/diagnoses/none");
  v1::Diagnosis diagnosis;
  grpc::ClientContext context;
  EXPECT_THAT(rpc::FromGrpcStatus(stub_->GetDiagnosis(&context, get, &diagnosis)),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

}  // namespace
}  // namespace galen::orchestrator
