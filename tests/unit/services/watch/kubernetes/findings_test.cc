// From reports to findings on nodes.
#include "services/watch/kubernetes/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace galen::watch::kubernetes {
namespace {

using kube::Json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);  // 2023-11-14T22:13:20Z
constexpr absl::Duration kHold = absl::Hours(24);

NodeRules Rules() {
  NodeRules rules;
  rules.conditions = {{"GalenGpuProblem", {"GPU"}, "a GPU is faulty"},
                      {"GalenNetworkProblem", {"NET"}, "a link is faulty"}};
  rules.gpu_labels = {"nvidia.com/gpu.present=true"};
  rules.gpu_resources = {"amd.com/gpu"};
  return rules;
}

galen::v1::Cause Cause(const std::string& label,
                       const std::vector<std::pair<std::string, std::string>>& devices,
                       const std::string& owner = "provider") {
  galen::v1::Cause cause;
  cause.set_label(label);
  cause.set_title("Title");
  cause.set_owner(owner);
  cause.set_probability(0.972);
  for (const auto& [node, device] : devices) {
    galen::v1::Device& at = *cause.add_devices();
    at.set_node(node);
    at.set_device(device);
    cause.add_evidence_ids("gpu.health@" + node);
  }
  return cause;
}

Conclusion Of(const std::string& id, absl::Time time, const galen::v1::Cause& cause) {
  galen::v1::Report report;
  *report.mutable_primary_cause() = cause;
  return ConclusionOf("tenants/acme/diagnoses/" + id, time, report, Witness::kChecks);
}

TEST(ConclusionOfTest, IsEachConfirmedCauseOnEachNodeThatItSitsOn) {
  galen::v1::Report report;
  *report.mutable_primary_cause() =
      Cause("GPU.ECC", {{"n1", "gpu:1"}, {"n1", "gpu:2"}, {"n2", ""}});
  *report.add_other_causes() = Cause("NET.LINK", {{"n3", "nic:mlx5_0"}});
  *report.add_secondary_effects() = Cause("GPU.XID", {{"n4", ""}});
  *report.mutable_presumed_cause() = Cause("GPU.HANG", {{"n5", ""}});
  *report.add_ruled_out() = Cause("NET.FLAP", {});
  for (const char* id : {"rdma.counters@n6", "signal/nccl.error@train.log", "incident/7"}) {
    report.mutable_ruled_out(0)->add_evidence_ids(id);
  }
  const Conclusion conclusion =
      ConclusionOf("tenants/acme/diagnoses/d1", kNow, report, Witness::kChecks);
  EXPECT_EQ(conclusion.diagnosis, "d1");  // and not whose
  ASSERT_EQ(conclusion.faults.size(), 3u);
  EXPECT_EQ(conclusion.faults[0].node, "n1");
  EXPECT_EQ(conclusion.faults[0].text, "Title on gpu:1, gpu:2 (GPU.ECC, probability 0.97)");
  EXPECT_EQ(conclusion.faults[1].node, "n2");
  EXPECT_EQ(conclusion.faults[2].node, "n3");
  EXPECT_THAT(conclusion.ruled_out, ElementsAre(Pair("n6", "NET.FLAP")));
}

TEST(ConclusionOfTest, IsNothingOfWhatACustomerMendsOrOfWhatIsNoNode) {
  EXPECT_THAT(Of("d", kNow, Cause("GPU.ECC", {{"n1", ""}}, "customer")).faults, IsEmpty());
  for (const char* node : {"", "../secrets", "UPPER", "a/b", "a b"}) {
    EXPECT_THAT(Of("d", kNow, Cause("GPU.ECC", {{node, ""}})).faults, IsEmpty()) << node;
  }
}

TEST(ConclusionOfTest, IsNothingOfNodesThatOnlyTheIncidentsLogsNameUnlessTheIncidentIsOurs) {
  galen::v1::Cause cause = Cause("GPU.ECC", {{"n1", "gpu:1"}, {"n2", "gpu:1"}});
  cause.clear_evidence_ids();
  for (const char* id : {"gpu.ecc@n1", "signal/xid@n2", "incident/7@n2"}) {
    cause.add_evidence_ids(id);
  }
  const Conclusion of_a_customer = Of("d", kNow, cause);
  ASSERT_EQ(of_a_customer.faults.size(), 1u);
  EXPECT_EQ(of_a_customer.faults[0].node, "n1");
  galen::v1::Report report;
  *report.mutable_primary_cause() = cause;
  EXPECT_EQ(ConclusionOf("d", kNow, report, Witness::kAll).faults.size(), 2u);
}

TEST(ReasonOfTest, IsOneWord) {
  EXPECT_EQ(ReasonOf("GPU.MEMORY.UNCORRECTABLE_ECC"), "GpuMemoryUncorrectableEcc");
  EXPECT_EQ(ReasonOf("SYSTEM_SOFTWARE.HOST_OS"), "SystemSoftwareHostOs");
  EXPECT_EQ(ReasonOf(""), "Unknown");
  EXPECT_EQ(ReasonOf("..\n"), "Unknown");
  EXPECT_LE(ReasonOf(std::string(10'000, 'a')).size(), 128u);
}

TEST(ProblemsOfTest, AreTheLastWordOnEachNodeForAsLongAsItIsGood) {
  const Conclusion first = Of("d1", kNow - absl::Hours(3), Cause("GPU.ECC", {{"n1", "gpu:1"}}));
  const Conclusion again = Of("d2", kNow - absl::Hours(1), Cause("GPU.HANG", {{"n1", "gpu:1"}}));
  const Conclusion old = Of("d3", kNow - kHold, Cause("NET.LINK", {{"n2", ""}}));
  const Conclusion none = Of("d4", kNow, Cause("OTHER.THING", {{"n3", ""}}));
  const Problems problems = ProblemsOf({again, first, old, none}, Rules(), kHold, kNow);
  ASSERT_THAT(problems,
              ElementsAre(Pair("n1", ElementsAre(Pair("GalenGpuProblem", ::testing::_)))));
  const Problem& problem = problems.at("n1").at("GalenGpuProblem");
  EXPECT_EQ(problem.reason, "GpuHang");
  EXPECT_EQ(problem.message,
            "a GPU is faulty: Title on gpu:1 (GPU.HANG, probability 0.97); Galen diagnosis d2");
  EXPECT_EQ(problem.since, kNow - absl::Hours(3));
  EXPECT_EQ(problem.seen, kNow - absl::Hours(1));
}

TEST(ProblemsOfTest, ALaterDiagnosisRulesOutWhatItLookedAtAndNothingElse) {
  const Conclusion found =
      Of("d1", kNow - absl::Hours(3), Cause("GPU.ECC", {{"n1", ""}, {"n2", ""}}));
  Conclusion later;
  later.diagnosis = "d2";
  later.time = kNow - absl::Hours(1);
  later.ruled_out = {{"n1", "GPU.ECC"}, {"n2", "GPU.HANG"}};
  EXPECT_EQ(ProblemsOf({found, later}, Rules(), kHold, kNow).count("n1") == 0 ||
                ProblemsOf({found, later}, Rules(), kHold, kNow).at("n1").empty(),
            true);
  EXPECT_EQ(ProblemsOf({found, later}, Rules(), kHold, kNow).at("n2").size(), 1u);
  later.time = kNow - absl::Hours(5);  // what came before rules out nothing
  EXPECT_EQ(ProblemsOf({found, later}, Rules(), kHold, kNow).at("n1").size(), 1u);
}

Json Node(const Json& conditions) {
  return {{"metadata", {{"name", "n1"}}}, {"status", {{"conditions", conditions}}}};
}

TEST(PatchOfTest, SaysWhatIsNewAndThenNothing) {
  const Problems problems = ProblemsOf(
      {Of("d1", kNow - absl::Hours(1), Cause("GPU.ECC", {{"n1", ""}}))}, Rules(), kHold, kNow);
  const Json ready = {{"type", "Ready"}, {"status", "True"}};
  const auto patch = PatchOf(Node({ready}), problems.at("n1"), Rules(), kNow);
  ASSERT_TRUE(patch.has_value());
  EXPECT_EQ(*patch, Json::parse(R"({"status": {"conditions": [{
    "type": "GalenGpuProblem", "status": "True", "reason": "GpuEcc",
    "message": "a GPU is faulty: Title (GPU.ECC, probability 0.97); Galen diagnosis d1",
    "lastTransitionTime": "2023-11-14T21:13:20Z", "lastHeartbeatTime": "2023-11-14T21:13:20Z"}]}})"));
  const Json now = Node({ready, (*patch)["status"]["conditions"][0]});
  EXPECT_EQ(PatchOf(now, problems.at("n1"), Rules(), kNow + absl::Hours(1)), std::nullopt);
  // Another reason, since the same time.
  const Problems other =
      ProblemsOf({Of("d2", kNow, Cause("GPU.HANG", {{"n1", ""}}))}, Rules(), kHold, kNow);
  const auto change = PatchOf(now, other.at("n1"), Rules(), kNow);
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ((*change)["status"]["conditions"][0]["reason"], "GpuHang");
  EXPECT_EQ((*change)["status"]["conditions"][0]["lastTransitionTime"], "2023-11-14T21:13:20Z");
  // No longer.
  const auto end = PatchOf(now, {}, Rules(), kNow);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ((*end)["status"]["conditions"][0]["status"], "False");
  EXPECT_EQ((*end)["status"]["conditions"][0]["reason"], "NoLongerConfirmed");
  EXPECT_EQ((*end)["status"]["conditions"][0]["lastTransitionTime"], "2023-11-14T22:13:20Z");
  EXPECT_EQ(PatchOf(Node({(*end)["status"]["conditions"][0]}), {}, Rules(), kNow), std::nullopt);
}

TEST(PatchOfTest, SaysOfNoNodeThatItIsHealthyAndTouchesNoConditionOfOthers) {
  EXPECT_EQ(PatchOf(Node(Json::array()), {}, Rules(), kNow), std::nullopt);
  EXPECT_EQ(PatchOf(Node({{{"type", "KernelDeadlock"}, {"status", "True"}}}), {}, Rules(), kNow),
            std::nullopt);
  for (const char* text : {"{}", R"({"status": 3})", R"({"status": {"conditions": {}}})",
                           R"({"status": {"conditions": [1, {"type": 7}]}})"}) {
    EXPECT_EQ(PatchOf(Json::parse(text), {}, Rules(), kNow), std::nullopt) << text;
  }
}

TEST(EventOfTest, IsOneOfItsNodeAndTheSameEachTime) {
  const Conclusion conclusion = Of("d1", kNow, Cause("GPU.ECC", {{"n1", "gpu:1"}}));
  const Json event = EventOf(conclusion, conclusion.faults[0]);
  EXPECT_EQ(TextAt(event, {"metadata", "namespace"}), "default");
  EXPECT_EQ(TextAt(event, {"involvedObject", "name"}), "n1");
  EXPECT_EQ(TextAt(event, {"reason"}), "GpuEcc");
  EXPECT_EQ(TextAt(event, {"message"}),
            "Title on gpu:1 (GPU.ECC, probability 0.97); Galen diagnosis d1");
  EXPECT_THAT(event.dump(), Not(HasSubstr("acme")));
  EXPECT_EQ(event, EventOf(conclusion, conclusion.faults[0]));
  const Conclusion other = Of("d2", kNow, Cause("GPU.ECC", {{"n1", "gpu:1"}}));
  EXPECT_NE(EventOf(other, other.faults[0])["metadata"]["name"], event["metadata"]["name"]);
}

TEST(HasGpuTest, GoesByLabelsAndByWhatANodeHas) {
  for (const auto& [text, has] : std::vector<std::pair<std::string, bool>>{
           {R"({"metadata": {"labels": {"nvidia.com/gpu.present": "true"}}})", true},
           {R"({"metadata": {"labels": {"nvidia.com/gpu.present": "false"}}})", false},
           {R"({"status": {"capacity": {"amd.com/gpu": "8"}}})", true},
           {R"({"status": {"capacity": {"amd.com/gpu": "0", "cpu": "64"}}})", false},
           {R"({"metadata": {"labels": []}, "status": {"capacity": {"amd.com/gpu": 8}}})", false},
           {"{}", false}}) {
    EXPECT_EQ(HasGpu(Json::parse(text), Rules()), has) << text;
  }
}

}  // namespace
}  // namespace galen::watch::kubernetes
