// The steps that are taken on a node, and when they are refused.
#include "services/watch/kubernetes/node_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace galen::watch::kubernetes {
namespace node_step_test {

using kube::Json;
using remediation::NodeAction;
using ::testing::HasSubstr;

const NodeAction kCordon{"c", NodeAction::Do::kCordon, "", "", "${node}", {"GPU"}};
const NodeAction kTaint{"t",    NodeAction::Do::kTaint, "galen.io/faulty", "NoSchedule", "${node}",
                        {"GPU"}};

galen::v1::Action AnAction() {
  galen::v1::Action action;
  action.set_name("tenants/acme/diagnoses/d1/actions/a1");
  action.set_label("GPU.PCIE.FELL_OFF_BUS");
  action.mutable_target()->set_node("n1");
  return action;
}

Json Node(const std::string& name, Json spec = Json::object()) {
  return {{"metadata", {{"name", name}, {"resourceVersion", "7"}, {"labels", {{"a", "b"}}}}},
          {"spec", std::move(spec)}};
}

TEST(StepForTest, CordonsTheVersionThatWasSeenAndSaysByWhatButNotForWhom) {
  const NodeStep step = StepFor(AnAction(), kCordon, Node("n1"), {}, 5);
  ASSERT_TRUE(step.patch.has_value());
  EXPECT_EQ(step.text, "node n1 is cordoned");
  EXPECT_EQ((*step.patch)["spec"], (Json{{"unschedulable", true}}));
  const Json& metadata = (*step.patch)["metadata"];
  EXPECT_EQ(metadata["resourceVersion"], "7");
  EXPECT_EQ(metadata["labels"], (Json{{"galen.io/taken-out", "cordon"}}));
  EXPECT_EQ(metadata["annotations"], (Json{{"galen.io/taken-out-by", "diagnoses/d1/actions/a1"}}));
}

TEST(StepForTest, TaintsBesideTheTaintsThatAreThere) {
  const Json other = {{"key", "gpu"}, {"effect", "NoSchedule"}};
  const NodeStep step =
      StepFor(AnAction(), kTaint, Node("n1", {{"taints", Json::array({other})}}), {}, 5);
  ASSERT_TRUE(step.patch.has_value());
  EXPECT_EQ((*step.patch)["spec"]["taints"], Json::array({other,
                                                          {{"key", "galen.io/faulty"},
                                                           {"value", "GPU.PCIE.FELL_OFF_BUS"},
                                                           {"effect", "NoSchedule"}}}));
  EXPECT_EQ(step.text, "node n1 is tainted with galen.io/faulty=GPU.PCIE.FELL_OFF_BUS:NoSchedule");
}

TEST(StepForTest, DoesNothingTwice) {
  const NodeStep cordoned =
      StepFor(AnAction(), kCordon, Node("n1", {{"unschedulable", true}}), {}, 5);
  EXPECT_FALSE(cordoned.patch.has_value());
  EXPECT_FALSE(cordoned.refused);
  EXPECT_FALSE(cordoned.done_before);
  EXPECT_THAT(cordoned.text, HasSubstr("nothing was done"));
  // Done by this very action, whose end was not written down.
  Json done = Node("n1", {{"unschedulable", true}});
  done["metadata"]["annotations"] = {{"galen.io/taken-out-by", "diagnoses/d1/actions/a1"}};
  EXPECT_EQ(StepFor(AnAction(), kCordon, done, {}, 5).text, "node n1 is cordoned");
  EXPECT_TRUE(StepFor(AnAction(), kCordon, done, {}, 5).done_before);
  const Json ours = {{"key", "galen.io/faulty"}, {"value", "x"}, {"effect", "NoSchedule"}};
  const NodeStep tainted =
      StepFor(AnAction(), kTaint, Node("n1", {{"taints", Json::array({ours})}}), {}, 5);
  EXPECT_FALSE(tainted.patch.has_value());
  EXPECT_FALSE(tainted.refused);
}

TEST(StepForTest, RefusesOneNodeMoreThanMayBeOutAndCountsOnlyThoseThatStillAre) {
  std::vector<Json> out;
  for (int i = 0; i < 5; ++i) {
    out.push_back(Node(absl::StrCat("out-", i), {{"unschedulable", true}}));
  }
  const NodeStep refused = StepFor(AnAction(), kCordon, Node("n1"), out, 5);
  EXPECT_TRUE(refused.refused);
  EXPECT_FALSE(refused.patch.has_value());
  EXPECT_THAT(refused.text, HasSubstr("5 nodes are out by Galen's hand (out-0, out-1"));
  out[0] = Node("out-0");  // put back; the mark stays
  EXPECT_TRUE(StepFor(AnAction(), kCordon, Node("n1"), out, 5).patch.has_value());
  out[0] = Node("out-0", {{"taints", Json::array({{{"key", "galen.io/faulty"}}})}});
  EXPECT_TRUE(StepFor(AnAction(), kCordon, Node("n1"), out, 5).refused);
  // The node itself does not count.
  out[0] = Node("n1", {{"taints", Json::array({{{"key", "galen.io/faulty"}}})}});
  EXPECT_TRUE(StepFor(AnAction(), kCordon, Node("n1"), out, 5).patch.has_value());
}

TEST(StepForTest, RefusesATaintThatCouldNotSayWhatWasApproved) {
  for (const std::string& label : {std::string(64, 'A'), std::string("GPU."), std::string("A B")}) {
    galen::v1::Action action = AnAction();
    action.set_label(label);
    const NodeStep step = StepFor(action, kTaint, Node("n1"), {}, 5);
    EXPECT_TRUE(step.refused) << label;
    EXPECT_THAT(step.text, HasSubstr("cannot be the value of a taint")) << label;
    EXPECT_TRUE(StepFor(action, kCordon, Node("n1"), {}, 5).patch.has_value()) << label;
  }
}

TEST(StepForTest, RefusesWhatIsNotTheNodeAndBearsAnyShape) {
  EXPECT_TRUE(StepFor(AnAction(), kCordon, Node("n2"), {}, 5).refused);
  for (const Json& odd :
       {Json(), Json::array(), Json{{"metadata", 1}}, Json{{"metadata", {{"name", "n1"}}}}}) {
    EXPECT_TRUE(StepFor(AnAction(), kCordon, odd, {}, 5).refused) << odd;
  }
  for (const Json& spec : {Json{{"taints", 3}}, Json{{"taints", {1, "x", Json()}}}, Json(7)}) {
    EXPECT_TRUE(
        StepFor(AnAction(), kTaint, Node("n1", spec), {Json(), Json(3)}, 5).patch.has_value())
        << spec;
  }
}

}  // namespace node_step_test
}  // namespace galen::watch::kubernetes
