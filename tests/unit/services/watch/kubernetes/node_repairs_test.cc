// An approved action is done once, to that node, and recorded.
#include "services/watch/kubernetes/node_repairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/store/store.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/kube/scripted_cluster.h"
#include "tests/testing/status_matchers.h"

namespace galen::watch::kubernetes {
namespace {

using galen::testing::IsOk;
using galen::testing::Refused;
using galen::testing::Replied;
using galen::v1::Action;
using kube::Json;
using remediation::ApprovalStore;
using remediation::NodeAction;
using remediation::NodeActions;
using ::testing::HasSubstr;

// Nodes whose versions count. Thread-safe.
struct FakeNodes {
  FakeNodes()
      : api([this](const kube::HttpRequest& request, int /*number*/) { return Do(request); }) {}

  absl::StatusOr<kube::HttpReply> Do(const kube::HttpRequest& request) {
    const std::lock_guard lock(mu);
    if (answers != 200) return Refused(answers, "Trouble");
    if (absl::StrContains(request.target, "labelSelector")) {
      Json out = Json::array();
      for (const auto& [name, node] : nodes) {
        if (node["metadata"]["labels"].contains("galen.io/taken-out")) out.push_back(node);
      }
      return Replied({{"metadata", {{"resourceVersion", "5"}}}, {"items", out}});
    }
    const std::string path = request.target.substr(0, request.target.find('?'));
    const auto found = nodes.find(path.substr(path.rfind('/') + 1));
    if (found == nodes.end()) return Refused(404, "NotFound");
    if (request.method == "GET") return Replied(found->second);
    const Json body = Json::parse(request.body);
    if (body["metadata"]["resourceVersion"] != found->second["metadata"]["resourceVersion"]) {
      return Refused(409, "Conflict");
    }
    found->second.merge_patch(body);
    found->second["metadata"]["resourceVersion"] = absl::StrCat("later-", ++patches);
    return Replied(found->second);
  }
  void Put(const std::string& name) {
    const std::lock_guard lock(mu);
    nodes[name] = {
        {"metadata", {{"name", name}, {"resourceVersion", "1"}, {"labels", Json::object()}}},
        {"spec", Json::object()}};
  }
  bool IsCordoned(const std::string& name) {
    const std::lock_guard lock(mu);
    return nodes[name]["spec"].value("unschedulable", false);
  }
  void Answer(int code) {
    const std::lock_guard lock(mu);
    answers = code;
  }

  std::mutex mu;
  std::map<std::string, Json> nodes;
  int patches = 0;
  int answers = 200;
  galen::testing::ScriptedCluster api;
};

NodeActions Known(const std::string& text = "Cordon ${node}.") {
  return {{{"cordon", NodeAction::Do::kCordon, "", "", text, {"GPU"}}}, 1};
}

class NodeRepairsTest : public ::testing::Test {
 protected:
  NodeRepairsTest() {
    cluster_.Put("n1");
    cluster_.Put("n2");
  }
  static galen::v1::Diagnosis ADiagnosis(const std::string& node) {
    galen::v1::Diagnosis diagnosis;
    diagnosis.set_name("tenants/acme/diagnoses/of-" + node);
    diagnosis.mutable_report()->set_outcome(galen::v1::Report::CAUSE_CONFIRMED);
    galen::v1::Cause& cause = *diagnosis.mutable_report()->mutable_primary_cause();
    cause.set_label("GPU.PCIE");
    cause.add_devices()->set_node(node);
    cause.add_evidence_ids("gpu.presence@" + node);
    return diagnosis;
  }
  Action State(const std::string& node) {
    return approvals_.List(ADiagnosis(node), clock_.Now()).value()[0];
  }
  void Approve(const std::string& node) {
    const Action action = State(node);
    ASSERT_THAT(
        approvals_.Decide(ADiagnosis(node),
                          {action.name(), action.etag(), "key/ana", "", absl::Minutes(15), true},
                          clock_.Now()),
        IsOk());
  }
  std::unique_ptr<NodeRepairs> Start(NodeActions known = Known()) {
    return std::make_unique<NodeRepairs>(*client_, approvals_, std::move(known), clock_,
                                         NodeRepairs::Options{.every = absl::Milliseconds(2)},
                                         [](const std::string&) {});
  }
  void Await(const std::string& node, Action::State state) {
    while (State(node).state() != state) std::this_thread::yield();
  }

  FakeNodes cluster_;
  galen::testing::FakeClock clock_;
  const std::unique_ptr<store::Store> store_ = store::OpenStore(":memory:").value();
  ApprovalStore approvals_{store_->records(), Known()};
  const std::unique_ptr<kube::Client> client_ = cluster_.api.Connect();
};

TEST_F(NodeRepairsTest, DoesWhatWasApprovedToThatNodeAndNothingBefore) {
  const auto repairs = Start();
  EXPECT_FALSE(cluster_.IsCordoned("n1"));
  Approve("n1");
  Await("n1", Action::SUCCEEDED);
  EXPECT_TRUE(cluster_.IsCordoned("n1"));
  EXPECT_FALSE(cluster_.IsCordoned("n2"));
  EXPECT_EQ(State("n1").outcome(), "node n1 is cordoned");
  EXPECT_EQ(State("n1").consumed_by(), "galen-watch");
}

TEST_F(NodeRepairsTest, GoesOnWhenTheApiServerIsBack) {
  cluster_.Answer(503);
  const auto repairs = Start();
  Approve("n1");
  Await("n1", Action::CONSUMED);
  cluster_.Answer(200);
  Await("n1", Action::SUCCEEDED);
  EXPECT_EQ(cluster_.patches, 1);
}

TEST_F(NodeRepairsTest, GivesUpWhatCannotBeDoneAndSaysWhy) {
  cluster_.Answer(403);
  const auto repairs = Start();
  Approve("n1");
  Await("n1", Action::FAILED);
  EXPECT_THAT(State("n1").outcome(), HasSubstr("not done: "));
  cluster_.Answer(200);
  Approve("n1");  // once there is the right to
  Await("n1", Action::SUCCEEDED);
}

TEST_F(NodeRepairsTest, GivesUpAfterAWhileOfTrouble) {
  cluster_.Answer(503);
  const auto repairs = Start();
  Approve("n1");
  Await("n1", Action::CONSUMED);
  clock_.Advance(absl::Minutes(16));
  Await("n1", Action::FAILED);
}

TEST_F(NodeRepairsTest, RefusesWhatWasAlteredSinceAndNodesThatAreNot) {
  Approve("n1");
  {
    const auto repairs = Start(Known("Drain ${node}."));
    Await("n1", Action::FAILED);
  }
  EXPECT_THAT(State("n1").outcome(), HasSubstr("something else here than what was approved"));
  const auto repairs = Start();
  Approve("n7");
  Await("n7", Action::FAILED);
  EXPECT_THAT(State("n7").outcome(), HasSubstr("the cluster has no node n7"));
  EXPECT_EQ(cluster_.patches, 0);
}

TEST_F(NodeRepairsTest, TakesNoMoreNodesOutThanMayBe) {
  const auto repairs = Start();
  Approve("n1");
  Await("n1", Action::SUCCEEDED);
  Approve("n2");
  Await("n2", Action::FAILED);
  EXPECT_THAT(State("n2").outcome(), HasSubstr("1 nodes are out by Galen's hand (n1)"));
  EXPECT_FALSE(cluster_.IsCordoned("n2"));
}

TEST_F(NodeRepairsTest, SeveralOfThemDoItOnce) {
  const auto here = Start();
  const auto there = Start();
  Approve("n1");
  Await("n1", Action::SUCCEEDED);
  const std::lock_guard lock(cluster_.mu);
  EXPECT_EQ(cluster_.patches, 1);
}

TEST_F(NodeRepairsTest, WhatAnotherTookIsLeftAlone) {
  Approve("n1");
  ASSERT_THAT(approvals_.Consume(State("n1").name(), State("n1").content_hash(),
                                 "a-person's-script", clock_.Now()),
              IsOk());
  const auto repairs = Start();
  Approve("n2");
  Await("n2", Action::SUCCEEDED);
  EXPECT_FALSE(cluster_.IsCordoned("n1"));
  EXPECT_EQ(State("n1").state(), Action::CONSUMED);
}

}  // namespace
}  // namespace galen::watch::kubernetes
