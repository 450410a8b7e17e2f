#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/executor.h"
#include "common/base/retry_hint.h"
#include "common/clients/grpc_clients.h"
#include "common/rpc/status.h"
#include "common/rpc/stream.h"
#include "common/rpc/unary.h"
#include "galen/node/v1/node.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/testing/rpc/in_process_server.h"
#include "tests/testing/status_matchers.h"

namespace galen::rpc {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;

// A service whose methods do what the test sets.
class ScriptedNodeService final : public node::v1::NodeService::CallbackService {
 public:
  explicit ScriptedNodeService(Executor& executor) : executor_(executor) {}
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context,
                                     const node::v1::DescribeRequest*,
                                     node::v1::DescribeResponse* response) override {
    return RunUnary(context, executor_, [=, this](const Call& call) -> absl::Status {
      response->set_host("n1");
      return describe ? describe(call) : absl::OkStatus();
    });
  }
  grpc::ServerWriteReactor<v1::CheckResult>* RunChecks(grpc::CallbackServerContext* context,
                                                       const node::v1::RunChecksRequest*) override {
    return RunServerStream<v1::CheckResult>(
        context, executor_, [this](const Call& call, StreamWriter<v1::CheckResult>& writer) {
          return run(call, writer);
        });
  }
  std::function<absl::Status(const Call&)> describe;
  std::function<absl::Status(const Call&, StreamWriter<v1::CheckResult>&)> run;

 private:
  Executor& executor_;
};

struct Streamed {
  std::vector<std::string> ids;
  absl::Status status;
};

Streamed RunChecks(clients::NodeClient& client, absl::Time deadline) {
  Streamed streamed;
  std::promise<absl::Status> done;
  client.RunChecks(
      node::v1::RunChecksRequest(), deadline,
      [&](v1::CheckResult result) { streamed.ids.push_back(result.id()); },
      [&](const absl::Status& status) { done.set_value(status); });
  streamed.status = done.get_future().get();
  return streamed;
}

absl::StatusOr<node::v1::DescribeResponse> Describe(clients::NodeClient& client,
                                                    absl::Time deadline) {
  std::promise<absl::StatusOr<node::v1::DescribeResponse>> answer;
  client.Describe(node::v1::DescribeRequest(), deadline,
                  [&](absl::StatusOr<node::v1::DescribeResponse> response) {
                    answer.set_value(std::move(response));
                  });
  return answer.get_future().get();
}

TEST(Status, SaysWhenToTryAgainAsARetryInfo) {
  const grpc::Status wire =
      ToGrpcStatus(WithRetryAfter(absl::UnavailableError("x"), absl::Milliseconds(2500)));
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(wire.error_details()));
  ASSERT_EQ(details.details_size(), 2);
  google::rpc::RetryInfo info;
  ASSERT_TRUE(details.details(1).UnpackTo(&info));
  EXPECT_EQ(info.retry_delay().seconds(), 2);
  EXPECT_EQ(info.retry_delay().nanos(), 500'000'000);
  EXPECT_EQ(RetryAfter(FromGrpcStatus(wire)), absl::Milliseconds(2500));
}

TEST(Status, LeavesWithExactlyOneErrorInfoAndComesBackWhole) {
  const absl::Status status = absl::NotFoundError("diagnoses/7: no such diagnosis");
  const grpc::Status wire = ToGrpcStatus(status);
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(wire.error_details()));
  ASSERT_EQ(details.details_size(), 1);
  google::rpc::ErrorInfo info;
  ASSERT_TRUE(details.details(0).UnpackTo(&info));
  EXPECT_EQ(info.reason(), "NOT_FOUND");
  EXPECT_EQ(info.domain(), "galen");
  EXPECT_THAT(FromGrpcStatus(wire),
              StatusIs(absl::StatusCode::kNotFound, "diagnoses/7: no such diagnosis"));
}

TEST(Unary, CarriesTheAnswerAndTheDeadline) {
  ThreadPool executor(1, 8);
  ScriptedNodeService service(executor);
  absl::Time seen;
  service.describe = [&](const Call& call) {
    seen = call.deadline;
    return absl::OkStatus();
  };
  galen::testing::InProcessServer server(service);
  const auto client = clients::MakeGrpcNodeClient(server.channel());
  const absl::Time deadline = absl::Now() + absl::Minutes(5);
  const auto response = Describe(*client, deadline);
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->host(), "n1");
  EXPECT_LT(absl::AbsDuration(seen - deadline), absl::Seconds(5));
  ASSERT_THAT(Describe(*client, absl::InfiniteFuture()), IsOk());
  EXPECT_EQ(seen, absl::InfiniteFuture());
}

TEST(Unary, ShedsLoadWhenItsExecutorIsFull) {
  std::latch running(1);
  std::latch release(1);
  ThreadPool executor(/*threads=*/1, /*max_queued=*/1);
  ASSERT_TRUE(executor.TrySchedule([&] {
    running.count_down();
    release.wait();
  }));
  running.wait();
  ASSERT_TRUE(executor.TrySchedule([] {}));
  ScriptedNodeService service(executor);
  galen::testing::InProcessServer server(service);
  const auto client = clients::MakeGrpcNodeClient(server.channel());
  const absl::Status shed = Describe(*client, absl::Now() + absl::Minutes(1)).status();
  EXPECT_THAT(shed, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("limit")));
  EXPECT_EQ(RetryAfter(shed), absl::Seconds(1));
  release.count_down();
}

TEST(Stream, GivesEveryMessageOnceAndInOrderThroughItsBoundedQueue) {
  ThreadPool executor(1, 8);
  ScriptedNodeService service(executor);
  constexpr int kMessages = 5000;  // far more than the queue holds
  service.run = [](const Call&, StreamWriter<v1::CheckResult>& writer) {
    for (int i = 0; i < kMessages; ++i) {
      v1::CheckResult result;
      result.set_id(absl::StrCat(i));
      if (!writer.Write(std::move(result))) return absl::CancelledError("reader left");
    }
    return absl::OkStatus();
  };
  galen::testing::InProcessServer server(service);
  const auto client = clients::MakeGrpcNodeClient(server.channel());
  const Streamed streamed = RunChecks(*client, absl::InfiniteFuture());
  EXPECT_THAT(streamed.status, IsOk());
  ASSERT_EQ(streamed.ids.size(), static_cast<std::size_t>(kMessages));
  for (int i = 0; i < kMessages; ++i) ASSERT_EQ(streamed.ids[i], absl::StrCat(i));
}

TEST(Stream, AnErrorOfTheHandlerComesAfterWhatItWrote) {
  ThreadPool executor(1, 8);
  ScriptedNodeService service(executor);
  service.run = [](const Call&, StreamWriter<v1::CheckResult>& writer) {
    v1::CheckResult result;
    result.set_id("first");
    writer.Write(std::move(result));
    return absl::DataLossError("disk is gone");
  };
  galen::testing::InProcessServer server(service);
  const auto client = clients::MakeGrpcNodeClient(server.channel());
  const Streamed streamed = RunChecks(*client, absl::InfiniteFuture());
  EXPECT_THAT(streamed.ids, ::testing::ElementsAre("first"));
  EXPECT_THAT(streamed.status, StatusIs(absl::StatusCode::kDataLoss, "disk is gone"));
}

TEST(Stream, AWriterLearnsThatItsReaderIsGone) {
  std::promise<bool> stopped;
  ThreadPool executor(1, 8);
  ScriptedNodeService service(executor);
  service.run = [&](const Call&, StreamWriter<v1::CheckResult>& writer) {
    // Without end, so only the reader's deadline can stop it.
    while (writer.Write(v1::CheckResult())) {
    }
    stopped.set_value(true);
    return absl::OkStatus();
  };
  galen::testing::InProcessServer server(service);
  const auto client = clients::MakeGrpcNodeClient(server.channel());
  EXPECT_THAT(RunChecks(*client, absl::Now() + absl::Milliseconds(50)).status,
              StatusIs(absl::StatusCode::kDeadlineExceeded, ::testing::_));
  EXPECT_TRUE(stopped.get_future().get());
}

}  // namespace
}  // namespace galen::rpc
