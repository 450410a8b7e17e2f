// Replicas of execution that ask for each other, over objects of one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "services/execution/check_runner.h"
#include "services/execution/peers.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::execution {
namespace {

using ::galen::testing::IsOk;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A node executor that serves any node, unless it is away, and records its requests.
class FakeExecutor final : public clients::NodeClient {
 public:
  clients::Cancel RunChecks(const node::v1::RunChecksRequest& request, absl::Time,
                            clients::OnMessage<galen::v1::CheckResult> on_result,
                            absl::AnyInvocable<void(absl::Status) &&> done) override {
    std::vector<std::string> nodes = {request.node()};
    nodes.insert(nodes.end(), request.more_nodes().begin(), request.more_nodes().end());
    calls.push_back(nodes);
    for (const std::string& node : nodes) {
      if (mute.count(node) > 0) continue;
      for (const std::string& check : request.checks()) {
        galen::v1::CheckResult result;
        result.set_id(absl::StrCat(check, "@", node));
        result.set_check(check);
        result.set_node(node);
        result.set_status(galen::v1::CheckResult::PASS);
        if (check == "compared") {
          galen::v1::Finding& finding = *result.add_findings();
          finding.set_name("version");
          finding.mutable_subject()->set_node(node);
          finding.set_int_value(node == "n7" ? 1 : 2);
        }
        on_result(std::move(result));
      }
    }
    std::move(done)(status);
    return clients::NoCancel();
  }
  void Describe(const node::v1::DescribeRequest&, absl::Time,
                clients::Done<node::v1::DescribeResponse> done) override {
    std::move(done)(node::v1::DescribeResponse());
  }
  std::vector<std::vector<std::string>> calls;
  std::set<std::string> mute;
  absl::Status status;
};

// The way to a replica, which may be cut.
class Road final : public clients::ExecutionClient {
 public:
  explicit Road(const CheckRunner*& runner, bool& cut) : runner_(runner), cut_(cut) {}
  void ResolveNodes(const v1::ResolveNodesRequest&, absl::Time,
                    clients::Done<v1::ResolveNodesResponse> done) override {
    std::move(done)(absl::UnimplementedError(""));
  }
  clients::Cancel RunChecks(const v1::RunChecksRequest&, absl::Time,
                            clients::OnMessage<galen::v1::CheckResult>,
                            absl::AnyInvocable<void(absl::Status) &&> done) override {
    std::move(done)(absl::UnimplementedError(""));
    return clients::NoCancel();
  }
  clients::Cancel RunShare(const v1::RunChecksRequest& request, absl::Time deadline,
                           clients::OnMessage<galen::v1::CheckResult> on_result,
                           absl::AnyInvocable<void(absl::Status) &&> done) override {
    if (cut_) {
      std::move(done)(absl::UnavailableError("cut"));
      return clients::NoCancel();
    }
    return runner_->RunShare(request, deadline, std::move(on_result), std::move(done));
  }

 private:
  const CheckRunner*& runner_;
  bool& cut_;
};

knowledge::v1::KnowledgeBase Checks() {
  knowledge::v1::KnowledgeBase base;
  base.add_checks()->set_name("cheap");
  knowledge::v1::Check& compared = *base.add_checks();
  compared.set_name("compared");
  knowledge::v1::FindingSpec& version = *compared.add_findings();
  version.set_name("version");
  version.set_type("int");
  compared.add_findings()->set_name("differs");
  knowledge::v1::Comparison& comparison = *compared.add_comparisons();
  comparison.set_finding("differs");
  comparison.set_of("version");
  comparison.set_how("differs");
  return base;
}

class SharesTest : public ::testing::Test {
 protected:
  // A replica whose nodes are all at one executor, which reports the caller.
  struct Replica {
    Replica(SharesTest& test, const std::string& self, const std::string& other)
        : pool(
              [this](const std::string& address,
                     const std::string&) -> absl::StatusOr<std::unique_ptr<clients::NodeClient>> {
                struct Shared final : clients::NodeClient {
                  Shared(FakeExecutor& to, std::string where)
                      : executor(to), address(std::move(where)) {}
                  clients::Cancel RunChecks(
                      const node::v1::RunChecksRequest& request, absl::Time deadline,
                      clients::OnMessage<galen::v1::CheckResult> on_result,
                      absl::AnyInvocable<void(absl::Status) &&> done) override {
                    std::vector<std::string> nodes = {request.node()};
                    nodes.insert(nodes.end(), request.more_nodes().begin(),
                                 request.more_nodes().end());
                    for (const std::string& node : nodes) {
                      EXPECT_EQ(Nodes().at(node), address) << node << " is elsewhere";
                    }
                    return executor.RunChecks(request, deadline, std::move(on_result),
                                              std::move(done));
                  }
                  void Describe(const node::v1::DescribeRequest& request, absl::Time deadline,
                                clients::Done<node::v1::DescribeResponse> done) override {
                    executor.Describe(request, deadline, std::move(done));
                  }
                  FakeExecutor& executor;
                  const std::string address;
                };
                return std::make_unique<Shared>(executor, address);
              },
              {.look = absl::ZeroDuration()}),
          peer_pool(
              [this, &test](const std::string&, const std::string&)
                  -> absl::StatusOr<std::unique_ptr<clients::ExecutionClient>> {
                return std::make_unique<Road>(road_to, test.cut_);
              },
              {.look = absl::ZeroDuration()}),
          registry({}, {}, pool, /*by_name=*/false),
          peers(peer_pool) {
      registry.SetRegistered(Nodes());
      peers.Use(self, {self, other});
      CheckRunner::Options options;
      options.look = absl::ZeroDuration();
      options.batch = 4;
      options.peers = &peers;
      runner = std::make_unique<CheckRunner>(registry, test.knowledge_, test.clock_, options);
    }
    static std::string PlaceOf(int node) { return absl::StrCat("rack:", 1 + node % 2); }
    static NodeRegistry::Addresses Nodes() {
      NodeRegistry::Addresses nodes;
      for (int i = 0; i < 20; ++i) nodes[absl::StrCat("n", i)] = PlaceOf(i);
      return nodes;
    }
    std::set<std::string> asked() const {
      std::set<std::string> nodes;
      for (const auto& call : executor.calls) nodes.insert(call.begin(), call.end());
      return nodes;
    }
    FakeExecutor executor;
    NodePool pool;
    ExecutionPool peer_pool;
    NodeRegistry registry;
    Peers peers;
    std::unique_ptr<CheckRunner> runner;
    const CheckRunner* road_to = nullptr;
  };

  SharesTest() {
    a_.road_to = b_.runner.get();
    b_.road_to = a_.runner.get();
  }

  std::map<std::string, galen::v1::CheckResult> Run(const Replica& replica,
                                                    const std::string& check) {
    v1::RunChecksRequest request;
    request.add_checks(check);
    for (const auto& [node, address] : Replica::Nodes()) request.add_nodes(node);
    std::map<std::string, galen::v1::CheckResult> results;
    absl::Status end = absl::InternalError("not done");
    replica.runner->RunChecks(
        request, absl::InfiniteFuture(),
        [&](galen::v1::CheckResult result) {
          EXPECT_TRUE(results.emplace(result.node(), result).second) << "twice: " << result.id();
        },
        [&](const absl::Status& status) { end = status; });
    EXPECT_THAT(end, IsOk());
    return results;
  }

  bool cut_ = false;
  const knowledge::Knowledge knowledge_{Checks()};
  galen::testing::FakeClock clock_;
  Replica a_{*this, "a:1", "b:1"};
  Replica b_{*this, "b:1", "a:1"};
};

TEST_F(SharesTest, EachNodeIsAskedOnceByItsOwnerWhicheverReplicaIsCalled) {
  for (const Replica* called : {&a_, &b_}) {
    a_.executor.calls.clear();
    b_.executor.calls.clear();
    const auto results = Run(*called, "cheap");
    EXPECT_THAT(results, SizeIs(20));
    for (const auto& [node, result] : results) {
      EXPECT_EQ(result.status(), galen::v1::CheckResult::PASS) << node;
    }
    const HashRing ring({"a:1", "b:1"});
    EXPECT_FALSE(a_.asked().empty());
    EXPECT_FALSE(b_.asked().empty());
    for (const std::string& node : a_.asked()) EXPECT_EQ(ring.OwnerOf(node), "a:1");
    for (const std::string& node : b_.asked()) EXPECT_EQ(ring.OwnerOf(node), "b:1");
    EXPECT_EQ(a_.asked().size() + b_.asked().size(), 20u);
  }
}

TEST_F(SharesTest, NodesAtOnePlaceAreAskedInOneCallOfBoundedSize) {
  Run(a_, "cheap");
  for (const auto& call : a_.executor.calls) EXPECT_LE(call.size(), 4u);
  EXPECT_LT(a_.executor.calls.size(), a_.asked().size());
}

TEST_F(SharesTest, TheNodesOfAReplicaThatIsGoneAreAskedByTheOneThatWasCalled) {
  cut_ = true;
  const auto results = Run(a_, "cheap");
  EXPECT_THAT(results, SizeIs(20));
  for (const auto& [node, result] : results) {
    EXPECT_EQ(result.status(), galen::v1::CheckResult::PASS) << node;
  }
  EXPECT_THAT(a_.asked(), SizeIs(20));
  EXPECT_THAT(b_.asked(), IsEmpty());
  // And while it is not tried again.
  EXPECT_THAT(Run(a_, "cheap"), SizeIs(20));
}

TEST_F(SharesTest, NodesThatTheOwnerDoesNotKnowYetAreAskedByTheOneThatWasCalled) {
  b_.registry.SetRegistered({});
  EXPECT_THAT(Run(a_, "cheap"), SizeIs(20));
  EXPECT_THAT(a_.asked(), SizeIs(20));
}

TEST_F(SharesTest, NodesAreComparedOverAllReplicas) {
  const auto results = Run(a_, "compared");
  ASSERT_THAT(results, SizeIs(20));
  for (const auto& [node, result] : results) {
    bool compared = false;
    for (const galen::v1::Finding& finding : result.findings()) {
      if (finding.name() != "differs") continue;
      compared = true;
      EXPECT_EQ(finding.bool_value(), node == "n7") << node;
    }
    EXPECT_TRUE(compared) << node;
  }
}

TEST_F(SharesTest, ASilentNodeAmongManyIsAnErrorOfItsOwn) {
  a_.executor.mute = b_.executor.mute = {"n3"};
  for (Replica* replica : {&a_, &b_})
    replica->executor.status = absl::DeadlineExceededError("slow");
  const auto results = Run(a_, "cheap");
  ASSERT_THAT(results, SizeIs(20));
  for (const auto& [node, result] : results) {
    EXPECT_EQ(result.status(),
              node == "n3" ? galen::v1::CheckResult::ERROR : galen::v1::CheckResult::PASS)
        << node << ": " << result.message();
  }
  EXPECT_THAT(results.at("n3").message(), HasSubstr("slow"));
}

TEST_F(SharesTest, ANodeThatNobodyKnowsIsAnErrorThatSaysSo) {
  a_.registry.SetRegistered({});
  b_.registry.SetRegistered({});
  const auto results = Run(a_, "cheap");
  ASSERT_THAT(results, SizeIs(20));
  EXPECT_THAT(results.at("n1").message(), HasSubstr("none is registered with execution"));
}

}  // namespace
}  // namespace galen::execution
