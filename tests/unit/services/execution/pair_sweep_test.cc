#include "services/execution/pair_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
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
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using std::string_literals::operator""s;

knowledge::v1::KnowledgeBase PairChecks() {
  knowledge::v1::KnowledgeBase base;
  std::vector<knowledge::Problem> problems;
  const auto real =
      knowledge::Parse(std::vector<std::string>{GALEN_SOURCE_DIR "/knowledge/checks"}, problems);
  EXPECT_THAT(real, IsOk());
  if (!real.ok()) return base;
  for (const char* name : {"rdma.pair", "net.reachability"}) {
    knowledge::v1::Check& check = *base.add_checks();
    check.set_name(name);
    check.add_needs("two_nodes");
    for (const char* each : {"role", "peer", "token"}) check.add_parameters()->set_name(each);
    // Its findings, their limits, and the comparisons are those of the catalogue.
    for (const knowledge::v1::Check& each : real->checks()) {
      if (each.name() != name) continue;
      *check.mutable_findings() = each.findings();
      *check.mutable_comparisons() = each.comparisons();
    }
  }
  return base;
}

// State that the nodes of a test share: pairs that met, and bad nodes.
struct Cluster {
  std::set<std::string> bad;
  std::set<std::string> sends_badly;     // it fails as the client only
  std::set<std::string> receives_badly;  // and it as the server only
  std::map<std::string, double> gbps;    // a pair gets the lower of the two; missing: unknown
  std::set<std::string> without_device;
  std::set<std::string> isolated;  // as a server it cannot be reached
  std::set<std::string> deaf;      // as a server it opens no port
  bool servers_wait = false;       // for a client that does not come, until they are cancelled
  std::string address = "10.0.0.1:4791";
  std::map<std::string, std::string> servers;              // by token
  std::vector<std::pair<std::string, std::string>> pairs;  // server and client
  std::function<void()> on_client;                         // while a client is at work

  bool Fails(const std::string& server, const std::string& client) const {
    return bad.contains(server) || bad.contains(client) || receives_badly.contains(server) ||
           sends_badly.contains(client);
  }
};

void AddNumber(const char* name, const std::string& node, std::optional<double> value,
               CheckResult* result) {
  galen::v1::Finding& finding = *result->add_findings();
  finding.set_name(name);
  finding.mutable_subject()->set_node(node);
  finding.mutable_subject()->set_device("nic:mlx5_0/port:1");
  if (value.has_value()) finding.set_double_value(*value);
}

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
    result.set_id(request.checks(0) + "@" + name_);
    result.set_check(request.checks(0));
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
      if (partner_.empty() && (cluster_.servers_wait || cluster_.isolated.contains(name_))) {
        auto waiting = std::make_shared<absl::AnyInvocable<void(absl::Status) &&>>(std::move(done));
        return [waiting] {
          auto end = std::exchange(*waiting, nullptr);
          if (end) std::move(end)(absl::CancelledError("asked to end"));
        };
      }
      if (partner_.empty() || cluster_.Fails(name_, partner_)) result.set_status(CheckResult::FAIL);
      AddSpeed(partner_, &result);
    } else {
      const std::string server = cluster_.servers.at(values.at("token"));
      EXPECT_EQ(values.at("peer"), cluster_.address);
      cluster_.pairs.emplace_back(server, name_);
      if (cluster_.on_client) cluster_.on_client();
      if (cluster_.isolated.contains(server)) {
        galen::v1::Finding& finding = *result.add_findings();
        finding.set_name("connect_failed");
        finding.mutable_subject()->set_node(name_);
        finding.set_int_value(3);
        finding.set_abnormal(true);
        result.set_status(CheckResult::FAIL);
        result.set_message("3 of 3 connections failed");
      } else {
        nodes_->at(server)->partner_ = name_;
        if (cluster_.Fails(server, name_)) result.set_status(CheckResult::FAIL);
        AddSpeed(server, &result);
      }
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
  // Adds the speed of a board that is not in the hardware table.
  void AddSpeed(const std::string& partner, CheckResult* result) const {
    const auto own = cluster_.gbps.find(name_);
    const auto other = cluster_.gbps.find(partner);
    if (own == cluster_.gbps.end() || other == cluster_.gbps.end()) return;
    AddNumber("gbps_host", name_, std::min(own->second, other->second), result);
    AddNumber("gbps_host_floor", name_, std::nullopt, result);
  }

  const std::string name_;
  Cluster& cluster_;
  std::string partner_;
};

class PairSweepTest : public ::testing::Test {
 protected:
  std::map<std::string, CheckResult> Run(int count, bool progress = false) {
    std::map<std::string, std::unique_ptr<FakeNode>> nodes;
    std::map<std::string, clients::NodeClient*> clients;
    cluster_.pairs.clear();
    v1::RunChecksRequest request;
    request.add_checks(check_);
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

  static const galen::v1::Finding* FindingOf(const CheckResult& result, const char* name) {
    for (const galen::v1::Finding& finding : result.findings()) {
      if (finding.name() == name) return &finding;
    }
    return nullptr;
  }

  static std::string FollowsNode(const CheckResult& result) {
    const galen::v1::Finding* const finding = FindingOf(result, "follows_node");
    return finding == nullptr ? "(none)" : knowledge::ValueText(*finding);
  }

  // The nodes that are named as bad.
  static std::set<std::string> Named(const std::map<std::string, CheckResult>& results) {
    std::set<std::string> named;
    for (const auto& [node, result] : results) {
      if (FollowsNode(result) == node) named.insert(node);
    }
    return named;
  }

  const knowledge::Knowledge knowledge_{PairChecks()};
  const char* check_ = "rdma.pair";
  galen::testing::FakeClock clock_;
  Cluster cluster_;
  int words_of_progress_ = 0;
};

TEST_F(PairSweepTest, SoundNodesPassInOneRoundOfBothWays) {
  const auto results = Run(6);
  EXPECT_EQ(cluster_.pairs.size(), 6u);
  EXPECT_EQ(std::count(cluster_.pairs.begin(), cluster_.pairs.end(), std::pair("n0"s, "n1"s)), 1);
  EXPECT_EQ(std::count(cluster_.pairs.begin(), cluster_.pairs.end(), std::pair("n1"s, "n0"s)), 1);
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
  EXPECT_TRUE(FindingOf(results.at("n3"), "follows_node")->abnormal());
  EXPECT_FALSE(FindingOf(results.at("n0"), "follows_node")->abnormal());
}

TEST_F(PairSweepTest, ANodeThatOnlySendsBadlyIsFoundThoughItReceivesFirst) {
  cluster_.sends_badly = {"n0"};
  const auto results = Run(4);
  ASSERT_EQ(cluster_.pairs.front().first, "n0");  // the server, which receives
  for (const auto& [node, result] : results) {
    EXPECT_EQ(FollowsNode(result), node == "n0" ? "n0" : "none") << node;
    EXPECT_EQ(result.status(), node == "n0" ? CheckResult::FAIL : CheckResult::PASS) << node;
  }
}

TEST_F(PairSweepTest, APairThatFailedOneWayIsNotTestedTheOther) {
  cluster_.receives_badly = {"n0"};
  Run(2);
  EXPECT_EQ(cluster_.pairs.size(), 1u);
}

TEST_F(PairSweepTest, TwoNodesThatSendBadlyAccuseNoSoundOne) {
  cluster_.sends_badly = {"n0", "n3"};
  for (const std::string& node : Named(Run(4))) EXPECT_TRUE(cluster_.sends_badly.contains(node));
}

TEST_F(PairSweepTest, OfFaultsOfOneWayOnlyTheFaultyAreNamedAndOfAFewAllAre) {
  std::mt19937 random(13);
  for (int trial = 0; trial < 200; ++trial) {
    const int count = 2 + static_cast<int>(random() % 15);
    const int faulty = static_cast<int>(random() % static_cast<unsigned>(count + 1));
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) names.push_back(absl::StrCat("n", i));
    std::shuffle(names.begin(), names.end(), random);
    const std::set<std::string> chosen(names.begin(), names.begin() + faulty);
    cluster_.sends_badly.clear();
    cluster_.receives_badly.clear();
    for (const std::string& node : chosen) {
      const unsigned ways = 1 + random() % 3;
      if ((ways & 1) != 0) cluster_.sends_badly.insert(node);
      if ((ways & 2) != 0) cluster_.receives_badly.insert(node);
    }
    const auto results = Run(count);
    for (const std::string& node : Named(results)) EXPECT_TRUE(chosen.contains(node)) << node;
    for (const std::string& node : chosen) {
      EXPECT_NE(results.at(node).status(), CheckResult::PASS) << node;
      EXPECT_NE(FollowsNode(results.at(node)), "none") << node;
    }
    if (count >= 8 && 4 * faulty <= count) {
      EXPECT_EQ(Named(results), chosen);
    }
  }
}

TEST_F(PairSweepTest, WhatIsTruncatedOffAfterTheFirstWayClearsNobody) {
  std::map<std::string, std::unique_ptr<FakeNode>> nodes;
  const auto calls = std::make_shared<CancelGroup>();
  PairSweep sweep{.check = *knowledge_.FindCheck("rdma.pair"),
                  .nodes = {},
                  .call = {},
                  .pair_time = absl::Minutes(1),
                  .deadline = absl::InfiniteFuture(),
                  .clock = clock_,
                  .calls = calls};
  for (const char* name : {"n0", "n1"}) {
    nodes[name] = std::make_unique<FakeNode>(name, cluster_);
    nodes[name]->nodes_ = &nodes;
    sweep.nodes[name] = nodes[name].get();
  }
  cluster_.on_client = [&] { calls->CancelAll(); };
  std::map<std::string, CheckResult> results;
  bool done = false;
  StartPairSweep(
      std::move(sweep),
      [&](const std::string& node, CheckResult result) {
        if (result.status() != CheckResult::RUNNING) results[node] = std::move(result);
      },
      [&] { done = true; });
  EXPECT_TRUE(done);
  EXPECT_EQ(cluster_.pairs.size(), 1u);
  ASSERT_EQ(results.size(), 2u);
  for (const auto& [node, result] : results) EXPECT_EQ(FollowsNode(result), "unknown") << node;
}

TEST_F(PairSweepTest, ANodeThatNobodyGetsThroughToFailsByTheWordOfItsClient) {
  check_ = "net.reachability";
  cluster_.isolated = {"n0"};
  const auto results = Run(4);
  EXPECT_THAT(Named(results), ElementsAre("n0"));
  const CheckResult& result = results.at("n0");
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_THAT(result.message(), HasSubstr("as its client: 3 of 3 connections failed"));
  const galen::v1::Finding* const failed = FindingOf(result, "connect_failed");
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->int_value(), 3);
  EXPECT_EQ(failed->subject().node(), "n0");
  for (const char* node : {"n1", "n2", "n3"}) {
    EXPECT_EQ(results.at(node).status(), CheckResult::PASS) << node;
  }
}

TEST_F(PairSweepTest, OfTwoNodesAloneTheOneWithoutAResultIsNotAccused) {
  check_ = "net.reachability";
  cluster_.isolated = {"n0"};
  const auto results = Run(2);
  EXPECT_EQ(results.at("n0").status(), CheckResult::ERROR);
  EXPECT_THAT(results.at("n0").message(), HasSubstr("waited for n1"));
  EXPECT_EQ(results.at("n1").status(), CheckResult::FAIL);
}

TEST_F(PairSweepTest, ASlowNodeWithoutAKnownFloorIsToldByTheOthers) {
  for (int i = 0; i < 6; ++i) cluster_.gbps[absl::StrCat("n", i)] = 200;
  cluster_.gbps["n0"] = 100;
  const auto results = Run(6);
  EXPECT_THAT(Named(results), ElementsAre("n0"));
  EXPECT_TRUE(FindingOf(results.at("n0"), "gbps_below_peers_pct")->abnormal());
  for (const auto& [node, result] : results) {
    EXPECT_EQ(result.status(), node == "n0" ? CheckResult::FAIL : CheckResult::PASS) << node;
    EXPECT_EQ(FollowsNode(result), node == "n0" ? "n0" : "none") << node;
  }
}

TEST_F(PairSweepTest, WhatWasClearAmongItsPeersIsNotAccusedByALaterMedian) {
  for (int i = 0; i < 8; ++i) cluster_.gbps[absl::StrCat("n", i)] = 200;
  cluster_.gbps["n0"] = 100;
  // 13 % below the median of the first round, 23 % below what it is once n1 was tested again.
  cluster_.gbps["n4"] = cluster_.gbps["n5"] = 155;
  const auto results = Run(8);
  EXPECT_THAT(Named(results), ElementsAre("n0"));
  EXPECT_EQ(results.at("n4").status(), CheckResult::PASS);
  EXPECT_EQ(results.at("n5").status(), CheckResult::PASS);
}

TEST_F(PairSweepTest, ASpeedThatNothingIsKnownOfClearsNobody) {
  cluster_.gbps = {{"n0", 100}, {"n1", 100}};
  const auto results = Run(2);
  EXPECT_THAT(Named(results), IsEmpty());
  for (const auto& [node, result] : results) {
    EXPECT_EQ(result.status(), CheckResult::PASS) << node;
    EXPECT_EQ(FollowsNode(result), "unknown") << node;
  }
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
  EXPECT_THAT(results.at("n0").message(), HasSubstr("not tested: n1 did not act as its client"));
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
  EXPECT_EQ(words_of_progress_, 4);  // a server's of each way
}

TEST_F(PairSweepTest, APairCheckIsKnownByItsNeedAndItsParameters) {
  EXPECT_FALSE(IsPairCheck(knowledge::v1::Check()));
  EXPECT_TRUE(IsPairCheck(PairChecks().checks(0)));
}

}  // namespace
}  // namespace galen::execution
