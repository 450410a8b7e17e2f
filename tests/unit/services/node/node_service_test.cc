#include "services/node/node_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <vector>

#include "absl/time/clock.h"
#include "common/clients/grpc_clients.h"
#include "fake_hosts.h"
#include "services/node/local_client.h"
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
    // The callbacks own what they write to.
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

}  // namespace
}  // namespace galen::node
