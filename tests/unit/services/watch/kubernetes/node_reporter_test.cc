// The reports of a cluster's nodes.
#include "services/watch/kubernetes/node_reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/kube/scripted_cluster.h"
#include "tests/testing/status_matchers.h"

namespace galen::watch::kubernetes {
namespace node_reporter_test {

using galen::testing::IsOk;
using galen::testing::Refused;
using galen::testing::Replied;
using kube::Json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Event = galen::v1::DiagnosisEvent;

// Nodes, and the events that were made. Thread-safe.
struct FakeNodes {
  FakeNodes()
      : api([this](const kube::HttpRequest& request, int /*number*/) { return Do(request); }) {}

  absl::StatusOr<kube::HttpReply> Do(const kube::HttpRequest& request) {
    std::unique_lock lock(mu);
    if (request.on_bytes) {
      lock.unlock();
      // Quiet: what is written comes back with the answer.
      while (!request.cancellation->SleepFor(absl::Minutes(1))) {
      }
      return absl::CancelledError("stopped");
    }
    if (request.method == "GET") {
      Json items = Json::array();
      for (const auto& [name, node] : nodes) items.push_back(node);
      return Replied({{"metadata", {{"resourceVersion", "5"}}}, {"items", items}});
    }
    Json body = Json::parse(request.body);
    changed.notify_all();
    if (request.method == "POST") {
      const std::string name = body["metadata"]["name"];
      if (!events.emplace(name, body).second) return Refused(409, "AlreadyExists");
      return Replied(body, 201);
    }
    ++patches;
    const std::string name = request.target.substr(14, request.target.find("/status") - 14);
    if (name == broken) return Refused(403, "Forbidden");
    Json& conditions = nodes[name]["status"]["conditions"];
    for (const Json& condition : body["status"]["conditions"]) {
      Json kept = Json::array();
      for (const Json& before : conditions) {
        if (before["type"] != condition["type"]) kept.push_back(before);
      }
      kept.push_back(condition);
      conditions = kept;
    }
    return Replied(nodes[name]);
  }
  void Put(const std::string& name, const Json& labels) {
    nodes[name] = {
        {"metadata", {{"name", name}, {"uid", name}, {"labels", labels}, {"resourceVersion", "1"}}},
        {"status", {{"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}};
  }
  std::string StatusOf(const std::string& name) {
    std::string told;
    for (const Json& condition : nodes[name]["status"]["conditions"]) {
      if (condition["type"] == "GalenGpuProblem") {
        told = absl::StrCat(condition["status"].get<std::string>(), " ",
                            condition["reason"].get<std::string>());
      }
    }
    return told;
  }

  std::mutex mu;
  std::condition_variable changed;
  std::map<std::string, Json> nodes;
  std::map<std::string, Json> events;
  std::string broken;
  int patches = 0;
  galen::testing::ScriptedCluster api;
};

class NodeReporterTest : public ::testing::Test {
 protected:
  NodeReporterTest() {
    rules_.conditions = {{"GalenGpuProblem", {"GPU"}, "a GPU is faulty"}};
    rules_.gpu_labels = {"gpu=true"};
    for (const char* name : {"n1", "n2"}) cluster_.Put(name, {{"gpu", "true"}});
    cluster_.Put("cpu-1", Json::object());
  }
  std::unique_ptr<NodeReporter> Start(absl::Duration settle = absl::Hours(1)) {
    return std::make_unique<NodeReporter>(
        *client_, *store_, rules_, clock_,
        NodeReporter::Options{.every = absl::Milliseconds(5), .settle = settle},
        [this](const std::string& news) {
          const std::lock_guard lock(cluster_.mu);
          told_.push_back(news);
          cluster_.changed.notify_all();
        });
  }
  void Conclude(const std::string& id, const std::string& node) {
    const std::string name = "tenants/acme/diagnoses/" + id;
    Event created;
    created.mutable_event_time()->set_seconds(absl::ToUnixSeconds(clock_.Now()));
    created.mutable_created()->set_name(name);
    ASSERT_THAT(store_->events().Create(created), IsOk());
    const auto lease = store_->events().AcquireLease(name, "test", clock_.Now(), absl::Hours(1));
    Event event;
    event.set_sequence(2);
    *event.mutable_event_time() = created.event_time();
    galen::v1::Report& report = *event.mutable_concluded()->mutable_report();
    report.set_outcome(galen::v1::Report::CAUSE_CONFIRMED);
    report.mutable_primary_cause()->set_label("GPU.ECC");
    report.mutable_primary_cause()->add_devices()->set_node(node);
    report.mutable_primary_cause()->add_evidence_ids("gpu.ecc@" + node);
    ASSERT_THAT(store_->events().Append(*lease, 1, {event}), IsOk());
  }
  template <typename Holds>
  void Await(const Holds& holds) {
    std::unique_lock lock(cluster_.mu);
    while (!holds()) cluster_.changed.wait_for(lock, std::chrono::milliseconds(5));
  }

  NodeRules rules_;
  FakeNodes cluster_;
  galen::testing::FakeClock clock_;
  std::vector<std::string> told_;
  const std::unique_ptr<store::Store> store_ = store::OpenStore(":memory:").value();
  const std::unique_ptr<kube::Client> client_ = cluster_.api.Connect();
};

TEST_F(NodeReporterTest, SaysOnANodeWhatWasConcludedUntilThatIsOld) {
  const auto reporter = Start();
  Conclude("d1", "n1");
  Conclude("d2", "no-node-of-this-cluster");
  Await([&] { return cluster_.StatusOf("n1") == "True GpuEcc" && cluster_.events.size() == 1; });
  EXPECT_EQ(cluster_.StatusOf("n2"), "");
  clock_.Advance(absl::Hours(25));
  Await([&] { return cluster_.StatusOf("n1") == "False NoLongerConfirmed"; });
}

TEST_F(NodeReporterTest, WritesOnceAlsoWhenItBeginsAnewOrThereAreTwo) {
  Conclude("d1", "n1");
  {
    const auto reporter = Start();
    Await([&] { return cluster_.events.size() == 1; });
  }
  Conclude("d2", "n2");
  const auto here = Start();
  Await([&] { return cluster_.events.size() == 2; });
  const auto there = Start();
  Conclude("d3", "cpu-1");
  Await([&] { return cluster_.events.size() == 3 && cluster_.StatusOf("cpu-1") == "True GpuEcc"; });
  const std::lock_guard lock(cluster_.mu);
  EXPECT_GE(cluster_.patches, 3);
  EXPECT_LE(cluster_.patches, 4);  // at most one of the two writes what the other wrote
}

TEST_F(NodeReporterTest, OneNodeThatCannotBeWrittenHoldsUpNoOther) {
  cluster_.broken = "n1";
  Conclude("d1", "n1");
  Conclude("d2", "n2");
  const auto reporter = Start();
  Await([&] { return cluster_.StatusOf("n2") == "True GpuEcc" && !told_.empty(); });
  const std::lock_guard lock(cluster_.mu);
  EXPECT_THAT(told_, ElementsAre(HasSubstr("grant it by a role")));
}

TEST_F(NodeReporterTest, SaysWhichNodesWithGpusHaveNoExecutor) {
  ASSERT_THAT(store_->nodes().Announce({{"n1", "", clock_.Now() + absl::Hours(1)}}), IsOk());
  const auto reporter = Start(absl::ZeroDuration());
  Await([&] { return !told_.empty(); });
  {
    const std::lock_guard lock(cluster_.mu);
    EXPECT_THAT(
        told_,
        ElementsAre(HasSubstr("1 nodes of the cluster with GPUs have no node executor: n2;")));
  }
  ASSERT_THAT(store_->nodes().Announce({{"n2", "", clock_.Now() + absl::Hours(1)}}), IsOk());
  Await([&] { return told_.size() == 2; });
  EXPECT_THAT(told_[1], HasSubstr("every node"));
}

}  // namespace node_reporter_test
}  // namespace galen::watch::kubernetes
