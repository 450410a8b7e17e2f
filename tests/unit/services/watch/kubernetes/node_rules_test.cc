#include "services/watch/kubernetes/node_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace galen::watch::kubernetes {
namespace {

using galen::testing::IsOk;
using galen::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(NodeRulesTest, ThoseThatShipSayWhichCausesAreConditions) {
  const auto rules = LoadNodeRules({GALEN_KNOWLEDGE_DIR});
  ASSERT_THAT(rules, IsOk());
  for (const auto& [label, type] : std::vector<std::pair<std::string, std::string>>{
           {"GPU.MEMORY.UNCORRECTABLE_ECC", "GalenGpuProblem"},
           {"INTERCONNECT_NETWORKING.NVLINK.LINK_FAULT", "GalenInterconnectProblem"},
           {"INTERCONNECT_NETWORKING.NIC.FIRMWARE", "GalenNetworkProblem"},
           {"SYSTEM_SOFTWARE.DRIVER.USER_KERNEL_VERSION_SKEW", "GalenSystemProblem"},
           {"OTHER.HOST_HARDWARE.POWER_OR_COOLING_FAILURE", "GalenHostProblem"},
           {"OTHER.OPERATIONS.MAINTENANCE", ""},
           {"USER_APPLICATION.CONFIG", ""},
           {"GPUS.NO_SUCH_FAMILY", ""}}) {
    const ConditionRule* rule = rules->For(label);
    EXPECT_EQ(rule == nullptr ? "" : rule->type, type) << label;
  }
  EXPECT_TRUE(rules->IsOurs("GalenGpuProblem"));
  EXPECT_FALSE(rules->IsOurs("Ready"));
  EXPECT_THAT(rules->gpu_labels, Not(IsEmpty()));
}

TEST(NodeRulesTest, SayWhatIsWrongAndWhere) {
  for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
           {"", "names no conditions"},
           {"conditions: []", "names no conditions"},
           {"more: 1", "more: unknown"},
           {"conditions:\n- {type: Ready, labels: [GPU], title: x}", "f.yaml:2"},
           {"conditions:\n- {type: Galen, labels: [GPU], title: x}", "begins with Galen"},
           {"conditions:\n- {type: GalenX, labels: [], title: x}", "labels"},
           {"conditions:\n- {type: GalenX, labels: [GPU]}", "title"},
           {"conditions:\n- {type: GalenX, labels: [GPU], title: x, colour: red}", "colour"},
           {"conditions:\n- {type: GalenX, labels: [GPU], title: x}\ngpu_nodes: {labels: [a]}",
            "a=VALUE"},
           {"conditions:\n- {type: GalenX, labels: [GPU], title: x}\ngpu_nodes: {b: []}",
            "b: unknown"}}) {
    EXPECT_THAT(ParseNodeRules(text, "f.yaml"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(says)))
        << text;
  }
  EXPECT_THAT(LoadNodeRules({"/nowhere"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("conditions.yaml")));
}

}  // namespace
}  // namespace galen::watch::kubernetes
