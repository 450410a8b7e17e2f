// The machine's clock is set while a call waits for its turn. A separate program, since all of it
// reads that clock.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/executor.h"
#include "common/clients/grpc_clients.h"
#include "common/rpc/stream.h"
#include "common/rpc/unary.h"
#include "galen/node/v1/node.grpc.pb.h"
#include "tests/testing/rpc/in_process_server.h"
#include "tests/testing/status_matchers.h"

namespace {
std::atomic<int> clock_set_by_seconds = 0;
}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (clock == CLOCK_REALTIME) time->tv_sec += clock_set_by_seconds;
  return result;
}

namespace galen::rpc {
namespace {

using ::galen::testing::IsOk;

absl::Time TimeOfDay() { return absl::FromChrono(std::chrono::system_clock::now()); }

// Sets the clock before it runs a task.
class LateExecutor final : public Executor {
 public:
  explicit LateExecutor(int seconds) : seconds_(seconds) {}
  [[nodiscard]] bool TrySchedule(absl::AnyInvocable<void() &&> task) override {
    return pool_.TrySchedule([seconds = seconds_, task = std::move(task)]() mutable {
      clock_set_by_seconds = seconds;
      std::move(task)();
    });
  }

 private:
  const int seconds_;
  ThreadPool pool_{1, 8};
};

// Returns the remaining time of a call.
class Service final : public node::v1::NodeService::CallbackService {
 public:
  explicit Service(Executor& executor) : executor_(executor) {}
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context,
                                     const node::v1::DescribeRequest*,
                                     node::v1::DescribeResponse*) override {
    return RunUnary(context, executor_, [this](const Call& call) {
      left = call.deadline - TimeOfDay();
      return absl::OkStatus();
    });
  }
  grpc::ServerWriteReactor<v1::CheckResult>* RunChecks(grpc::CallbackServerContext* context,
                                                       const node::v1::RunChecksRequest*) override {
    return RunServerStream<v1::CheckResult>(
        context, executor_, [this](const Call& call, StreamWriter<v1::CheckResult>&) {
          left = call.deadline - TimeOfDay();
          return absl::OkStatus();
        });
  }
  absl::Duration left;

 private:
  Executor& executor_;
};

class SetClock : public ::testing::TestWithParam<int> {
 protected:
  ~SetClock() override { clock_set_by_seconds = 0; }
  void ExpectTwoMinutesLeft() {
    EXPECT_GT(service_.left, absl::Minutes(1));
    EXPECT_LT(service_.left, absl::Minutes(3));
  }

  LateExecutor executor_{GetParam()};
  Service service_{executor_};
  galen::testing::InProcessServer server_{service_};
};

TEST_P(SetClock, LeavesACallTheTimeThatItHad) {
  const auto client = clients::MakeGrpcNodeClient(server_.channel());
  std::promise<absl::Status> end;
  client->Describe({}, TimeOfDay() + absl::Minutes(2),
                   [&](const absl::StatusOr<node::v1::DescribeResponse>& response) {
                     end.set_value(response.status());
                   });
  EXPECT_THAT(end.get_future().get(), IsOk());
  ExpectTwoMinutesLeft();
}

TEST_P(SetClock, TakesNoTimeFromACallThatIsMadeRightAfter) {
  const auto client = clients::MakeGrpcNodeClient(server_.channel());
  absl::Now();  // which goes on by this clock for seconds
  clock_set_by_seconds = GetParam();
  std::promise<absl::Status> end;
  client->Describe({}, TimeOfDay() + absl::Minutes(2),
                   [&](const absl::StatusOr<node::v1::DescribeResponse>& response) {
                     end.set_value(response.status());
                   });
  EXPECT_THAT(end.get_future().get(), IsOk());
  ExpectTwoMinutesLeft();
}

TEST_P(SetClock, LeavesAStreamTheTimeThatItHad) {
  const auto client = clients::MakeGrpcNodeClient(server_.channel());
  std::promise<absl::Status> end;
  client->RunChecks(
      {}, TimeOfDay() + absl::Minutes(2), [](const v1::CheckResult&) {},
      [&](const absl::Status& status) { end.set_value(status); });
  EXPECT_THAT(end.get_future().get(), IsOk());
  ExpectTwoMinutesLeft();
}

INSTANTIATE_TEST_SUITE_P(Clock, SetClock, ::testing::Values(300, -300));

}  // namespace
}  // namespace galen::rpc
