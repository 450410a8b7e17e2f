#include "common/knowledge/knowledge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace galen::knowledge {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::Label& AddLabel(v1::KnowledgeBase& base, const std::string& name, const std::string& parent) {
  v1::Label& label = *base.add_labels();
  label.set_label(name);
  label.set_parent(parent);
  return label;
}

void AddCheck(v1::KnowledgeBase& base, const std::string& name, int milliseconds,
              bool intrusive = false) {
  v1::Check& check = *base.add_checks();
  check.set_name(name);
  check.set_intrusive(intrusive);
  check.mutable_cost()->set_seconds(milliseconds / 1000);
  check.mutable_cost()->set_nanos(milliseconds % 1000 * 1'000'000);
  check.add_findings()->set_name("bad");
}

void AddRule(google::protobuf::RepeatedPtrField<v1::Rule>& rules, const std::string& check) {
  v1::Rule& rule = *rules.Add();
  rule.set_check(check);
  rule.set_finding("bad");
}

std::vector<std::string> Names(const std::vector<const v1::Label*>& labels) {
  std::vector<std::string> names;
  for (const v1::Label* label : labels) names.push_back(label->label());
  return names;
}

v1::KnowledgeBase Small() {
  v1::KnowledgeBase base;
  AddLabel(base, "GPU", "").add_first_checks("gpu.slow");
  v1::Label& leaf = AddLabel(base, "GPU.B", "GPU");
  AddRule(*leaf.mutable_confirm(), "gpu.slow");
  AddRule(*leaf.mutable_confirm(), "gpu.fast");
  AddRule(*leaf.mutable_confirm(), "gpu.stress");
  AddRule(*leaf.mutable_refute(), "gpu.also_fast");
  AddRule(*leaf.mutable_refute(), "gpu.fast");
  AddRule(*leaf.mutable_refute(), "gpu.gone");
  AddLabel(base, "GPU.A", "GPU");
  AddLabel(base, "NET", "");
  AddCheck(base, "gpu.slow", 1500);
  AddCheck(base, "gpu.fast", 100);
  AddCheck(base, "gpu.also_fast", 100);
  AddCheck(base, "gpu.stress", 50, /*intrusive=*/true);
  return base;
}

TEST(Knowledge, WalksTheTreeInTheOrderOfTheFiles) {
  const Knowledge knowledge(Small());
  EXPECT_THAT(Names(knowledge.Children("")), ElementsAre("GPU", "NET"));
  EXPECT_THAT(Names(knowledge.Children("GPU")), ElementsAre("GPU.B", "GPU.A"));
  EXPECT_THAT(Names(knowledge.Children("GPU.A")), IsEmpty());
  EXPECT_THAT(Names(knowledge.Children("NO.SUCH")), IsEmpty());
  EXPECT_TRUE(IsLeaf(*knowledge.FindLabel("GPU.A")));
  EXPECT_FALSE(IsLeaf(*knowledge.FindLabel("GPU")));
}

TEST(Knowledge, DecidesALeafByPassiveChecksCheapestFirst) {
  const Knowledge knowledge(Small());
  EXPECT_THAT(knowledge.ChecksFor(*knowledge.FindLabel("GPU.B")),
              ElementsAre("gpu.also_fast", "gpu.fast", "gpu.slow"));
}

TEST(Knowledge, DecidesALeafByTheConditionsOfItsRulesToo) {
  v1::KnowledgeBase base = Small();
  AddCheck(base, "gpu.condition", 10);
  for (v1::Label& label : *base.mutable_labels()) {
    if (label.label() == "GPU.B") label.mutable_confirm(0)->add_with()->set_check("gpu.condition");
  }
  const Knowledge knowledge(base);
  EXPECT_THAT(knowledge.ChecksFor(*knowledge.FindLabel("GPU.B")),
              ElementsAre("gpu.condition", "gpu.also_fast", "gpu.fast", "gpu.slow"));
}

TEST(Knowledge, GuidesTheSearchBelowAnInnerLabelByItsFirstChecks) {
  const Knowledge knowledge(Small());
  EXPECT_THAT(knowledge.ChecksFor(*knowledge.FindLabel("GPU")), ElementsAre("gpu.slow"));
}

TEST(Knowledge, FindsNothingForUnknownNames) {
  const Knowledge knowledge(Small());
  EXPECT_EQ(knowledge.FindLabel("GPU.C"), nullptr);
  EXPECT_EQ(knowledge.FindCheck("gpu.none"), nullptr);
  EXPECT_EQ(knowledge.FindFinding("gpu.fast", "good"), nullptr);
  EXPECT_NE(knowledge.FindFinding("gpu.fast", "bad"), nullptr);
  EXPECT_EQ(knowledge.FindSignal("none"), nullptr);
  EXPECT_EQ(knowledge.FindErrorCode("xid", 1), nullptr);
  EXPECT_EQ(knowledge.FindHardware("anything"), nullptr);
}

TEST(Knowledge, TakesTheFirstModelThatMatches) {
  v1::KnowledgeBase base;
  for (const auto& [model, match] : std::vector<std::pair<std::string, std::string>>{
           {"broken", "("}, {"small", "X1-S"}, {"any", "X1"}}) {
    v1::Hardware& hardware = *base.add_hardware();
    hardware.set_model(model);
    hardware.set_match(match);
  }
  const Knowledge knowledge(std::move(base));
  EXPECT_EQ(knowledge.FindHardware("Vendor X1-S")->model(), "small");
  EXPECT_EQ(knowledge.FindHardware("Vendor X1")->model(), "any");
  EXPECT_EQ(knowledge.FindHardware("Vendor Y"), nullptr);
}

}  // namespace
}  // namespace galen::knowledge
