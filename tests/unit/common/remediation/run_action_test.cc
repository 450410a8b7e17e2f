// The actions of a node executor on its machine are data, with bounds, and contain nothing from a
// report.
#include "common/remediation/run_action.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/remediation/node_actions.h"
#include "common/remediation/proposals.h"
#include "tests/testing/status_matchers.h"

namespace galen::remediation {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kClocks[] = "node.reset_gpu_clocks";

galen::v1::Device Gpu(const std::string& node = "n1", const std::string& pci = "0000:3b:00.0") {
  galen::v1::Device device;
  device.set_node(node);
  device.set_device("gpu:3");
  device.set_pci_address(pci);
  return device;
}

RunAction Shipped(const std::string& name) {
  const auto all = LoadRunActions({GALEN_KNOWLEDGE_DIR});
  EXPECT_THAT(all, IsOk());
  const auto found = std::find_if(all->begin(), all->end(),
                                  [&](const RunAction& one) { return one.name == name; });
  EXPECT_NE(found, all->end()) << name;
  return *found;
}

TEST(RunActionTest, TheShippedOnesAreFilledInAndSayExactlyWhatWouldHappen) {
  const RunAction clocks = Shipped(kClocks);
  const auto filled = Fill(clocks, Gpu());
  ASSERT_THAT(filled, IsOk());
  EXPECT_THAT(filled->text, HasSubstr("GPU 0000:3b:00.0 on n1"));
  EXPECT_THAT(
      PlanOf(clocks, *filled),
      ElementsAre("run: nvidia-smi -i 0000:3b:00.0 --reset-gpu-clocks",
                  "run: nvidia-smi -i 0000:3b:00.0 --reset-memory-clocks",
                  "run: nvidia-smi -i 0000:3b:00.0 --reset-applications-clocks", "all within 1m",
                  "then gpu.clocks has to find user_setting_changed false"));
  const RunAction reboot = Shipped("node.reboot");
  EXPECT_THAT(absl::StrJoin(PlanOf(reboot, Fill(reboot, Gpu()).value()), "\n"),
              ::testing::AllOf(
                  HasSubstr("only if Slurm has drained it and no job is on it: sinfo --noheader "
                            "--nodes=n1 --format=%T prints drained"),
                  HasSubstr("run: shutdown --reboot +1 'galen: an approved repair'")));
}

TEST(RunActionTest, ANameThatIsNoneFillsNothingIn) {
  const RunAction clocks = Shipped(kClocks);
  for (const char* node : {"", "n1; reboot", "-rf", "$(id)", "a b", "n1\n", "../n1"}) {
    EXPECT_THAT(Fill(clocks, Gpu(node)), StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_))
        << node;
  }
  for (const char* pci : {"", "0", "3b:00.0", "0000:3b:00.0 ", "0000:3b:00.0;x", "zzzz:3b:00.0"}) {
    EXPECT_THAT(Fill(clocks, Gpu("n1", pci)),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_))
        << pci;
  }
  galen::v1::Device nic = Gpu();
  nic.set_device("nic:mlx5_0");
  EXPECT_THAT(Fill(clocks, nic), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a GPU")));
}

std::string File(const std::string& more, const std::string& steps = "[[nvidia-smi, -x]]") {
  return absl::StrCat(
      "actions:\n  - name: node.x\n    text: On ${node}.\n    labels: [GPU]\n    steps: ", steps,
      "\n    verify: [{check: a, finding: b, is: c}]\n", more);
}

TEST(RunActionTest, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(ParseRunActions(File(""), "a.yaml"), IsOk());
  const struct {
    std::string text;
    const char* says;
  } kCases[] = {
      {File("", "[[bash, -c, id]]"), "runs whatever it is told"},
      {File("", "[[/usr/bin/env, id]]"), "runs whatever it is told"},
      {File("", "[['${node}']]"), "runs whatever it is told"},
      {File("", "[[]]"), "is a program and its arguments"},
      {File("", "[[nvidia-smi, '${pci}']]"), "nothing fills that in"},
      {File("", "[[nvidia-smi, '${label}']]"), "nothing fills that in"},
      {File("", "[]"), "needs 1 to 16 steps"},
      {File("    seconds: 0\n"), "is within 1 to 3600"},
      {File("    target: rack\n"), "node or gpu"},
      {File("    parameters: {m: {value: x}}\n"), "needs bounds"},
      {File("    parameters: {m: {value: '9', least: 1, most: 8}}\n"),
       "9: is not within its bounds"},
      {File("    parameters: {m: {value: x, one_of: [y, z]}}\n"),
       "x: is not within its bounds, y, z"},
      {File("    before: [{run: [nvidia-smi, -x], prints: '', text: none is there}]\n"),
       "none is there: runs a command of the steps"},
      {File("    after: [{run: [nvidia-smi, -x], prints: '', text: none is there}]\n"),
       "none is there: runs a command of the steps"},
      {File("    undo: x\n"), "undo: unknown"},
      {"actions: []\n", "has no actions"},
      {"actions:\n  - name: x\n", "a name node.NAME"},
  };
  for (const auto& one : kCases) {
    EXPECT_THAT(ParseRunActions(one.text, "a.yaml"),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         ::testing::AllOf(HasSubstr("a.yaml:"), HasSubstr(one.says))))
        << one.text;
  }
}

galen::v1::Diagnosis SlowGpu() {
  galen::v1::Diagnosis diagnosis;
  diagnosis.set_name("tenants/t/diagnoses/d");
  galen::v1::Report& report = *diagnosis.mutable_report();
  report.set_outcome(galen::v1::Report::CAUSE_CONFIRMED);
  galen::v1::Cause& cause = *report.mutable_primary_cause();
  cause.set_label("SYSTEM_SOFTWARE.GPU_CONFIG.CLOCK_OR_POWER_LIMIT_LOW");
  cause.add_evidence_ids("gpu.clocks@n1");
  *cause.add_devices() = Gpu();
  return diagnosis;
}

TEST(RunActionTest, IsProposedForTheDeviceThatACheckFoundAndForNoOther) {
  const auto offered = LoadNodeActions({GALEN_KNOWLEDGE_DIR}, {kClocks});
  ASSERT_THAT(offered, IsOk());
  const auto actions = ProposedBy(SlowGpu(), *offered);
  ASSERT_THAT(actions, SizeIs(1));
  EXPECT_EQ(actions[0].run(), kClocks);
  EXPECT_EQ(actions[0].target().pci_address(), "0000:3b:00.0");
  EXPECT_EQ(actions[0].plan_size(), 5);
  EXPECT_EQ(actions[0].content_hash(), ContentHash(actions[0]));

  galen::v1::Diagnosis of_logs = SlowGpu();
  of_logs.mutable_report()->mutable_primary_cause()->set_evidence_ids(0, "gpu.clocks@n2");
  EXPECT_THAT(ProposedBy(of_logs, *offered), SizeIs(0));
  galen::v1::Diagnosis of_a_bundle = SlowGpu();
  of_a_bundle.mutable_incident()->set_bundle("/b");
  EXPECT_THAT(ProposedBy(of_a_bundle, *offered), SizeIs(0));
  galen::v1::Diagnosis vague = SlowGpu();
  vague.mutable_report()->mutable_primary_cause()->mutable_devices(0)->clear_pci_address();
  EXPECT_THAT(ProposedBy(vague, *offered), SizeIs(0));
}

TEST(RunActionTest, AnyChangeOfWhatWouldRunIsAnotherAction) {
  const auto offered = LoadNodeActions({GALEN_KNOWLEDGE_DIR}, {kClocks});
  ASSERT_THAT(offered, IsOk());
  const galen::v1::Action action = ProposedBy(SlowGpu(), *offered).at(0);
  galen::v1::Action other = action;
  other.set_plan(0, "run: reboot");
  EXPECT_NE(ContentHash(other), action.content_hash());
  other = action;
  other.mutable_plan()->RemoveLast();
  EXPECT_NE(ContentHash(other), action.content_hash());
  other = action;
  other.mutable_target()->set_pci_address("0000:86:00.0");
  EXPECT_NE(ContentHash(other), action.content_hash());
}

}  // namespace
}  // namespace galen::remediation
