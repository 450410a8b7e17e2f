// Galen's actions on a node are data.
#include "common/remediation/node_actions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace galen::remediation {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;

const char kOne[] = "actions:\n  - {name: a, do: cordon, text: 'Cordon ${node}', labels: [GPU]}\n";

TEST(NodeActionsTest, TheShippedOnesAreRead) {
  const auto all =
      LoadNodeActions({GALEN_KNOWLEDGE_DIR}, {"kubernetes.cordon", "kubernetes.taint"});
  ASSERT_THAT(all, IsOk());
  EXPECT_EQ(all->most, 5);
  const NodeAction* taint = all->Find("kubernetes.taint");
  ASSERT_NE(taint, nullptr);
  EXPECT_THAT(taint->TextFor("gpu-1", "GPU.PCIE.FELL_OFF_BUS"),
              HasSubstr("Taint node gpu-1 with galen.io/faulty=GPU.PCIE.FELL_OFF_BUS:NoSchedule"));
  EXPECT_TRUE(taint->IsFor("GPU.PCIE.FELL_OFF_BUS"));
  EXPECT_TRUE(taint->IsFor("GPU"));
  EXPECT_FALSE(taint->IsFor("GPUS.PCIE"));
  EXPECT_FALSE(taint->IsFor("USER_APPLICATION.OOM"));
}

TEST(NodeActionsTest, OnlyWhatIsOfferedIsThereAndWithoutAnyNothingIsRead) {
  const auto one = LoadNodeActions({GALEN_KNOWLEDGE_DIR}, {"kubernetes.cordon"});
  ASSERT_THAT(one, IsOk());
  EXPECT_EQ(one->actions.size(), 1u);
  EXPECT_THAT(LoadNodeActions({"/nowhere"}, {}), IsOk());
  EXPECT_THAT(LoadNodeActions({GALEN_KNOWLEDGE_DIR}, {"kubernetes.wipe"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("has no action kubernetes.wipe; there are kubernetes.cordon")));
  EXPECT_THAT(LoadNodeActions({"/nowhere"}, {"a"}).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("kubernetes/actions.yaml")));
}

TEST(NodeActionsTest, SaysWhatIsWrongAndWhere) {
  const struct {
    const char* text;
    const char* says;
  } cases[] = {
      {"", "needs most and actions"},
      {"most: 5\n", "needs most and actions"},
      {"most: 0\n", "f:1: most: is not within 1"},
      {"most: 1\nlots: 2\n", "f:2: lots: unknown"},
      {"actions:\n  - {name: a, do: wipe, text: '${node}', labels: [GPU]}\n", "cordon or taint"},
      {"actions:\n  - {name: a, do: cordon, text: 'Cordon it', labels: [GPU]}\n", "${node}"},
      {"actions:\n  - {name: a, do: cordon, text: '${node}', labels: []}\n", "labels"},
      {"actions:\n  - {name: a, do: cordon, text: '${node}', shell: rm}\n", "shell: unknown"},
      {"actions:\n  - {name: a, do: taint, text: '${node}', labels: [GPU]}\n", "needed there"},
      {"actions:\n  - name: a\n    do: taint\n    taint: {key: node.kubernetes.io/x, effect: "
       "NoSchedule}\n",
       "f:4: taint: needs a key galen.io/NAME"},
      {"actions:\n  - name: a\n    do: taint\n    taint: {key: galen.io/x, effect: Evict}\n",
       "an effect"},
  };
  for (const auto& one : cases) {
    EXPECT_THAT(ParseNodeActions(one.text, "f").status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(one.says)))
        << one.text;
  }
  EXPECT_THAT(ParseNodeActions(absl::StrCat("most: 1\n", kOne), "f"), IsOk());
  EXPECT_THAT(ParseNodeActions(absl::StrCat("most: 1\n", kOne, kOne + 9), "f").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a: is there twice")));
}

}  // namespace
}  // namespace galen::remediation
