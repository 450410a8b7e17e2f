#include "services/execution/pair_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/knowledge/load.h"
#include "common/knowledge/rules.h"
#include "services/execution/check_runner.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::execution {
namespace {

using ::galen::testing::IsOk;
using ::galen::v1::CheckResult;
using ::testing::HasSubstr;

knowledge::v1::KnowledgeBase PairCheck() {
  knowledge::v1::KnowledgeBase base;
  knowledge::v1::Check& check = *base.add_checks();
  check.set_name("rdma.pair");
  check.add_needs("two_nodes");
  for (const char* name : {"role", "peer", "token"}) check.add_parameters()->set_name(name);
  // Its findings, with their limits, are those of the catalogue.
  std::vector<knowledge::Problem> problems;
  const auto real =
      knowledge::Parse(std::vector<std::string>{GALEN_SOURCE_DIR "/knowledge/checks"}, problems);
  EXPECT_THAT(real, IsOk());
  if (!real.ok()) return base;
  for (const knowledge::v1::Check& each : real->checks()) {
    if (each.name() == "rdma.pair") *check.mutable_findings() = each.findings();
  }
  return base;
}

// What the nodes of a test share: who met whom, and who is bad.
struct Cluster {
  std::set<std::string> bad;
  std::set<std::string> without_device;
  std::set<std::string> deaf;  // as a server it opens no port
  bool servers_wait = false;   // for a client that does not come, until they are cancelled
  std::string address = "10.0.0.1:4791";
  std::map<std::string, std::string> servers;  // by token
  std::vector<std::pair<std::string, std::string>> pairs;
};

// A node executor that carries a pair check out: the server waits for its client, as a real one
// does, because the client's whole call happens within its word that it listens.
class FakeNode final : public clients::NodeClient {
 public:
  FakeNode(std::string name, Cluster& cluster) : name_(std::move(name)), cluster_(cluster) {}

  clients::Cancel RunChecks(const node::v1::RunChecksRequest& request, absl::Time,
                            clients::OnMessage<CheckResult> on_result,
                            absl::AnyInvocable<void(absl::Status) &&> done) override {
    EXPECT_EQ(request.parameters_size(), 1);
    const auto& values = request.parameters(0).values();
    CheckResult result;
    result.set_id("rdma.pair@" + name_);
    result.set_check("rdma.pair");
    result.set_node(name_);
    result.set_status(CheckResult::PASS);
    if (cluster_.without_device.contains(name_)) {
      result.set_status(CheckResult::SKIPPED);
    } else if (values.at("role") == "server") {
      cluster_.servers[values.at("token")] = name_;
      partner_.clear();
      if (!cluster_.deaf.contains(name_)) {
        CheckResult interim = result;
        interim.set_status(CheckResult::RUNNING);
        interim.set_message("listening on " + cluster_.address);
        on_result(interim);
      }
      if (cluster_.servers_wait && partner_.empty()) {
        auto waiting = std::make_shared<absl::AnyInvocable<void(absl::Status) &&>>(std::move(done));
        return [waiting] {
          auto end = std::exchange(*waiting, nullptr);
          if (end) std::move(end)(absl::CancelledError("asked to end"));
        };
      }
      const bool failed =
          cluster_.bad.contains(name_) || partner_.empty() || cluster_.bad.contains(partner_);
      if (failed) result.set_status(CheckResult::FAIL);
    } else {
      const std::string server = cluster_.servers.at(values.at("token"));
      EXPECT_EQ(values.at("peer"), cluster_.address);
      cluster_.pairs.emplace_back(server, name_);
      nodes_->at(server)->partner_ = name_;
      const bool failed = cluster_.bad.contains(name_) || cluster_.bad.contains(server);
      if (failed) result.set_status(CheckResult::FAIL);
    }
    on_result(std::move(result));
    std::move(done)(absl::OkStatus());
    return clients::NoCancel();
  }
  void Describe(const node::v1::DescribeRequest&, absl::Time,
                clients::Done<node::v1::DescribeResponse> done) override {
    std::move(done)(node::v1::DescribeResponse());
  }
  std::map<std::string, std::unique_ptr<FakeNode>>* nodes_ = nullptr;

 private:
  const std::string name_;
  Cluster& cluster_;
  std::string partner_;
};

class PairSweepTest : public ::testing::Test {
 protected:
  std::map<std::string, CheckResult> Run(int count, bool progress = false) {
    std::map<std::string, std::unique_ptr<FakeNode>> nodes;
    std::map<std::string, clients::NodeClient*> clients;
    v1::RunChecksRequest request;
    request.add_checks("rdma.pair");
    request.set_progress(progress);
    for (int i = 0; i < count; ++i) {
      const std::string name = absl::StrCat("n", i);
      nodes[name] = std::make_unique<FakeNode>(name, cluster_);
      nodes[name]->nodes_ = &nodes;
      clients[name] = nodes[name].get();
      request.add_nodes(name);
    }
    const NodeRegistry registry(clients, {});
    const CheckRunner runner(registry, knowledge_, clock_, {});
    std::map<std::string, CheckResult> results;
    absl::Status status = absl::InternalError("done was not called");
    runner.RunChecks(
        request, absl::InfiniteFuture(),
        [&](CheckResult result) {
          if (result.status() == CheckResult::RUNNING) {
            ++words_of_progress_;
            return;
          }
          EXPECT_TRUE(results.emplace(result.node(), result).second) << "twice: " << result.id();
        },
        [&](const absl::Status& end) { status = end; });
    EXPECT_THAT(status, IsOk());
    return results;
  }

  static std::string FollowsNode(const CheckResult& result) {
    for (const galen::v1::Finding& finding : result.findings()) {
      if (finding.name() == "follows_node") return knowledge::ValueText(finding);
    }
    return "(none)";
  }

  const knowledge::Knowledge knowledge_{PairCheck()};
  galen::testing::FakeClock clock_;
  Cluster cluster_;
  int words_of_progress_ = 0;
};

TEST_F(PairSweepTest, SoundNodesPassInOneRound) {
  const auto results = Run(6);
  EXPECT_EQ(cluster_.pairs.size(), 3u);
  for (const auto& [node, result] : results) {
    EXPECT_EQ(result.status(), CheckResult::PASS) << node;
    EXPECT_EQ(FollowsNode(result), "none") << node;
  }
}

TEST_F(PairSweepTest, TheBadNodeIsNamedAndItsPartnersAreCleared) {
  cluster_.bad = {"n3"};
  const auto results = Run(7);
  ASSERT_EQ(results.size(), 7u);
  for (const auto& [node, result] : results) {
    EXPECT_EQ(FollowsNode(result), node == "n3" ? "n3" : "none") << node;
    EXPECT_EQ(result.status(), node == "n3" ? CheckResult::FAIL : CheckResult::PASS) << node;
  }
  EXPECT_THAT(results.at("n3").message(), HasSubstr("fails on 1 of 7 nodes"));
  // By the catalogue's own limit: without one it would be evidence of nothing.
  EXPECT_TRUE(results.at("n3").findings(0).abnormal());
  EXPECT_FALSE(results.at("n0").findings(0).abnormal());
}

TEST_F(PairSweepTest, OfTwoNodesAloneTheBadOneCannotBeTold) {
  cluster_.bad = {"n0"};
  const auto results = Run(2);
  EXPECT_EQ(FollowsNode(results.at("n0")), "unknown");
  EXPECT_EQ(FollowsNode(results.at("n1")), "unknown");
  EXPECT_EQ(results.at("n1").status(), CheckResult::FAIL);
}

TEST_F(PairSweepTest, ANodeWithoutTheDeviceIsSkippedAndSpoilsNobodysResult) {
  cluster_.without_device = {"n1"};
  const auto results = Run(4);
  EXPECT_EQ(results.at("n1").status(), CheckResult::SKIPPED);
  for (const char* node : {"n0", "n2", "n3"}) {
    EXPECT_EQ(results.at(node).status(), CheckResult::PASS) << node;
  }
}

TEST_F(PairSweepTest, AServerWhoseClientEndsIsNotWaitedFor) {
  cluster_.without_device = {"n1"};
  cluster_.servers_wait = true;
  const auto results = Run(2);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results.at("n1").status(), CheckResult::SKIPPED);
  EXPECT_EQ(results.at("n0").status(), CheckResult::ERROR);
  EXPECT_THAT(results.at("n0").message(), HasSubstr("not tested: n1 was no client for it"));
}

TEST_F(PairSweepTest, AServerThatOpensNoPortIsTheOneToBlame) {
  cluster_.deaf = {"n0", "n2"};  // and n1 is not n2's only choice
  const auto results = Run(6);
  EXPECT_EQ(results.at("n4").status(), CheckResult::PASS);
  EXPECT_EQ(results.at("n0").status(), CheckResult::FAIL);
}

TEST_F(PairSweepTest, AnAddressThatIsNoneIsNotPassedOn) {
  cluster_.address = "$(reboot):22";
  const auto results = Run(2);
  EXPECT_TRUE(cluster_.pairs.empty());
  EXPECT_EQ(results.at("n1").status(), CheckResult::ERROR);
}

TEST_F(PairSweepTest, WordsOfProgressComeOnlyWhenAskedFor) {
  Run(4);
  EXPECT_EQ(words_of_progress_, 0);
  Run(4, /*progress=*/true);
  EXPECT_EQ(words_of_progress_, 2);
}

TEST_F(PairSweepTest, APairCheckIsKnownByItsNeedAndItsParameters) {
  EXPECT_FALSE(IsPairCheck(knowledge::v1::Check()));
  EXPECT_TRUE(IsPairCheck(PairCheck().checks(0)));
}

}  // namespace
}  // namespace galen::execution
