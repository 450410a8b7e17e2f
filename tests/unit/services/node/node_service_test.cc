#include "services/node/node_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "common/clients/grpc_clients.h"
#include "fake_hosts.h"
#include "services/node/local_client.h"
#include "services/node/watch/event_hub.h"
#include "tests/testing/rpc/in_process_server.h"
#include "tests/testing/status_matchers.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;
using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using galen::v1::CheckResult;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::SizeIs;

absl::StatusOr<CheckOutput> Good(const CheckContext& context) {
  CheckOutput output;
  output.findings.push_back(IntFinding("count", context.host.name(), "", 1));
  output.message = "one";
  return output;
}

std::shared_ptr<const knowledge::Knowledge> TestKnowledge() {
  knowledge::v1::KnowledgeBase base;
  knowledge::v1::Check& check = *base.add_checks();
  check.set_name("t.good");
  check.set_kind(knowledge::v1::Check::NATIVE);
  knowledge::v1::FindingSpec& finding = *check.add_findings();
  finding.set_name("count");
  finding.set_type("int");
  return std::make_shared<const knowledge::Knowledge>(std::move(base));
}

// Both ways to the executor: over gRPC, and straight into it.
class NodeServiceTest : public ::testing::Test {
 protected:
  struct Answer {
    absl::Status status;
    std::vector<CheckResult> results;
  };

  static Answer Ask(clients::NodeClient& client, const v1::RunChecksRequest& request) {
    // The callbacks own the objects that they write to.
    auto answer = std::make_shared<Answer>();
    auto done = std::make_shared<std::promise<void>>();
    client.RunChecks(
        request, absl::Now() + absl::Seconds(30),
        [answer](CheckResult result) { answer->results.push_back(std::move(result)); },
        [answer, done](absl::Status status) {
          answer->status = std::move(status);
          done->set_value();
        });
    done->get_future().wait();
    return *answer;
  }

  FakeHosts hosts_{std::make_shared<FakeHost>("n1")};
  NodeExecutor node_{hosts_, TestKnowledge(), {{"t.good", Good}}, {}};
};

TEST_F(NodeServiceTest, AnswersTheSameOverGrpcAndStraight) {
  ThreadPool executor(2, 8);
  NodeServiceImpl service(node_, executor);
  testing::InProcessServer server(service);
  const auto remote = clients::MakeGrpcNodeClient(server.channel());
  LocalNodeClient local(node_, executor);
  v1::RunChecksRequest request;
  request.set_node("n1");
  request.add_checks("t.good");
  request.add_checks("no.such");
  const Answer over_grpc = Ask(*remote, request);
  const Answer straight = Ask(local, request);
  EXPECT_THAT(over_grpc.status, IsOk());
  EXPECT_THAT(straight.status, IsOk());
  ASSERT_THAT(over_grpc.results, SizeIs(2));
  ASSERT_THAT(straight.results, SizeIs(2));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(over_grpc.results[i].SerializeAsString(), straight.results[i].SerializeAsString());
  }
}

TEST_F(NodeServiceTest, ErrorsReachTheCallerWithTheirCode) {
  ThreadPool executor(2, 8);
  NodeServiceImpl service(node_, executor);
  testing::InProcessServer server(service);
  const auto remote = clients::MakeGrpcNodeClient(server.channel());
  v1::RunChecksRequest request;
  EXPECT_THAT(Ask(*remote, request).status, StatusIs(absl::StatusCode::kInvalidArgument, _));
  request.add_checks("t.good");
  request.set_bundle("gone");
  EXPECT_THAT(Ask(*remote, request).status, StatusIs(absl::StatusCode::kNotFound, _));
}

TEST_F(NodeServiceTest, DescribesItself) {
  ThreadPool executor(2, 8);
  NodeServiceImpl service(node_, executor);
  testing::InProcessServer server(service);
  const auto remote = clients::MakeGrpcNodeClient(server.channel());
  auto answer = std::make_shared<std::promise<absl::StatusOr<v1::DescribeResponse>>>();
  remote->Describe({}, absl::Now() + absl::Seconds(30),
                   [answer](absl::StatusOr<v1::DescribeResponse> response) {
                     answer->set_value(std::move(response));
                   });
  const auto response = answer->get_future().get();
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_THAT(response->checks(), ElementsAre("t.good"));
}

// A caller that listens to the node's events.
struct Listening {
  explicit Listening(clients::NodeClient& client)
      : cancel(client.Watch(
            {},
            [state = state](const v1::WatchEvent& event) {
              if (!state->heard.exchange(true)) state->first.set_value(event);
            },
            [state = state](absl::Status status) { state->end.set_value(std::move(status)); })) {}

  struct State {
    std::atomic<bool> heard = false;
    std::promise<v1::WatchEvent> first;
    std::promise<absl::Status> end;
  };
  // The call outlives the caller's interest in it.
  const std::shared_ptr<State> state = std::make_shared<State>();
  clients::Cancel cancel;
};

class WatchOverGrpc : public NodeServiceTest {
 protected:
  // Published repeatedly until a listener exists: nothing signals when a call has reached the
  // server.
  v1::WatchEvent FirstOf(Listening& listening) {
    std::future<v1::WatchEvent> first = listening.state->first.get_future();
    while (first.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
      hub_.Publish("system.kernel_log", IntFinding("xid", "n1", "gpu:0", 79));
    }
    return first.get();
  }

  const SystemClock clock_{};
  EventHub hub_{clock_};
  ThreadPool executor_{2, 8};
  NodeServiceImpl service_{node_, executor_, &hub_};
  testing::InProcessServer server_{service_};
  const std::unique_ptr<clients::NodeClient> remote_ =
      clients::MakeGrpcNodeClient(server_.channel());
};

TEST_F(WatchOverGrpc, WhatTheNodeNoticesReachesTheCaller) {
  Listening listening(*remote_);
  const v1::WatchEvent event = FirstOf(listening);
  EXPECT_EQ(event.check(), "system.kernel_log");
  EXPECT_EQ(event.finding().int_value(), 79);
  listening.cancel();
  EXPECT_THAT(listening.state->end.get_future().get(), StatusIs(absl::StatusCode::kCancelled, _));
}

TEST_F(WatchOverGrpc, ACallerThatHangsUpMakesRoomForOthers) {
  for (std::size_t i = 0; i < EventHub::kMaxListeners + 8; ++i) {
    Listening listening(*remote_);
    FirstOf(listening);
    listening.cancel();
    listening.state->end.get_future().wait();
  }
}

TEST_F(WatchOverGrpc, ANodeThatGoesTellsItsCallers) {
  Listening listening(*remote_);
  FirstOf(listening);
  hub_.Close();
  EXPECT_THAT(listening.state->end.get_future().get(), StatusIs(absl::StatusCode::kUnavailable, _));
  Listening late(*remote_);
  EXPECT_THAT(late.state->end.get_future().get(), StatusIs(absl::StatusCode::kUnavailable, _));
}

TEST_F(NodeServiceTest, ANodeThatWatchesNothingSaysSo) {
  ThreadPool executor(2, 8);
  NodeServiceImpl service(node_, executor);
  testing::InProcessServer server(service);
  const auto remote = clients::MakeGrpcNodeClient(server.channel());
  Listening listening(*remote);
  EXPECT_THAT(listening.state->end.get_future().get(),
              StatusIs(absl::StatusCode::kUnimplemented, _));
}

}  // namespace
}  // namespace galen::node
