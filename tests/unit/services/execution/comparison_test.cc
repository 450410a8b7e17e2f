#include "services/execution/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/knowledge/rules.h"

namespace galen::execution {
namespace {

using ::galen::v1::CheckResult;
using ::testing::HasSubstr;

// A check with one value a port and one comparison of it.
knowledge::v1::Check SpecOf(const std::string& how, int min_nodes = 0) {
  knowledge::v1::Check check;
  check.set_name("rdma.mtu");
  knowledge::v1::FindingSpec& value = *check.add_findings();
  value.set_name("active_mtu");
  value.set_type("int");
  knowledge::v1::FindingSpec& compared = *check.add_findings();
  compared.set_name("compared");
  knowledge::v1::Comparison& comparison = *check.add_comparisons();
  comparison.set_finding("compared");
  comparison.set_of("active_mtu");
  comparison.set_how(how);
  comparison.set_min_nodes(min_nodes);
  return check;
}

CheckResult ResultOf(const std::string& node, std::map<std::string, int> values,
                     CheckResult::Status status = CheckResult::PASS) {
  CheckResult result;
  result.set_check("rdma.mtu");
  result.set_node(node);
  result.set_status(status);
  for (const auto& [device, value] : values) {
    galen::v1::Finding& finding = *result.add_findings();
    finding.set_name("active_mtu");
    finding.mutable_subject()->set_node(node);
    finding.mutable_subject()->set_device(device);
    if (value >= 0) finding.set_int_value(value);
  }
  return result;
}

std::vector<CheckResult> Compared(const knowledge::v1::Check& spec,
                                  std::vector<CheckResult> results) {
  std::vector<CheckResult*> pointers;
  for (CheckResult& result : results) pointers.push_back(&result);
  CompareNodes(spec, pointers);
  return results;
}

// The comparison's value on a node: "true", "false", "unknown", or "(none)".
std::string ValueOn(const CheckResult& result, const std::string& device = "") {
  for (const galen::v1::Finding& finding : result.findings()) {
    if (finding.name() == "compared" && finding.subject().device() == device) {
      return knowledge::ValueText(finding);
    }
  }
  return "(none)";
}

TEST(CompareNodes, TheFewThatDifferFromTheMajorityAreNamed) {
  std::vector<CheckResult> nodes;
  for (int i = 0; i < 24; ++i) {
    nodes.push_back(ResultOf(absl::StrCat("n", i), {{"nic:mlx5_0", i % 6 == 0 ? 1024 : 4096}}));
  }
  nodes = Compared(SpecOf("differs"), nodes);
  for (int i = 0; i < 24; ++i) EXPECT_EQ(ValueOn(nodes[i]), i % 6 == 0 ? "true" : "false") << i;
  EXPECT_THAT(nodes[0].message(), HasSubstr("differs on 4 of 24 nodes"));
  EXPECT_THAT(nodes[0].findings(1).expected(), HasSubstr("4096, as on 20 of 24 nodes"));
}

TEST(CompareNodes, OfTwoNodesThatDisagreeNeitherIsCalledRight) {
  const auto nodes =
      Compared(SpecOf("differs"), {ResultOf("a", {{"p", 1024}}), ResultOf("b", {{"p", 4096}})});
  EXPECT_EQ(ValueOn(nodes[0]), "true");
  EXPECT_EQ(ValueOn(nodes[1]), "true");
}

TEST(CompareNodes, DevicesAreComparedWithTheirLikes) {
  const auto nodes = Compared(SpecOf("differs"), {ResultOf("a", {{"p0", 1024}, {"p1", 4096}}),
                                                  ResultOf("b", {{"p0", 1024}, {"p1", 4096}})});
  EXPECT_EQ(ValueOn(nodes[0]), "false");
}

TEST(CompareNodes, OneNodeAloneCannotTell) {
  EXPECT_EQ(ValueOn(Compared(SpecOf("differs"), {ResultOf("a", {{"p", 1024}})})[0]), "unknown");
  EXPECT_EQ(ValueOn(Compared(SpecOf("same_on_all"), {ResultOf("a", {{"p", 1}})})[0]), "unknown");
}

TEST(CompareNodes, ANodeThatCouldNotTellTakesNoPart) {
  const auto nodes = Compared(
      SpecOf("differs"),
      {ResultOf("a", {{"p", 1024}}), ResultOf("b", {{"p", -1}}), ResultOf("c", {{"p", 1024}}),
       ResultOf("d", {}, CheckResult::SKIPPED), ResultOf("e", {{"p", 4096}}, CheckResult::ERROR)});
  EXPECT_EQ(ValueOn(nodes[0]), "false");
  EXPECT_EQ(ValueOn(nodes[1]), "unknown");
  EXPECT_EQ(ValueOn(nodes[2]), "false");
  EXPECT_EQ(ValueOn(nodes[3]), "(none)");
  EXPECT_EQ(ValueOn(nodes[4]), "(none)");
}

TEST(CompareNodes, WhatANodeSaysOfItselfIsReplaced) {
  CheckResult liar = ResultOf("a", {{"p", 1024}});
  galen::v1::Finding& claim = *liar.add_findings();
  claim.set_name("compared");
  claim.set_bool_value(false);
  const auto nodes = Compared(SpecOf("differs"), {liar, ResultOf("b", {{"p", 4096}})});
  EXPECT_EQ(ValueOn(nodes[0]), "true");
  EXPECT_EQ(nodes[0].findings_size(), 2);
}

TEST(CompareNodes, ADifferenceBeyondTheLimitFailsTheCheck) {
  knowledge::v1::Check spec = SpecOf("differs");
  knowledge::v1::Rule& limit = *spec.mutable_findings(1)->mutable_abnormal();
  limit.set_op(knowledge::v1::Rule::EQ);
  limit.set_value("true");
  limit.set_finding("compared");
  const auto nodes = Compared(
      spec, {ResultOf("a", {{"p", 1}}), ResultOf("b", {{"p", 1}}), ResultOf("c", {{"p", 2}})});
  EXPECT_EQ(nodes[0].status(), CheckResult::PASS);
  EXPECT_EQ(nodes[2].status(), CheckResult::FAIL);
}

TEST(CompareNodes, SameOnAllIsToldOfAll) {
  for (const int third : {7, 8}) {
    const auto nodes = Compared(
        SpecOf("same_on_all"),
        {ResultOf("a", {{"p", 7}}), ResultOf("b", {{"p", 7}}), ResultOf("c", {{"p", third}})});
    for (const CheckResult& node : nodes) EXPECT_EQ(ValueOn(node), third == 7 ? "true" : "false");
  }
}

TEST(CompareNodes, DistanceFromTheMedianIsOneSided) {
  const std::vector<CheckResult> results = {ResultOf("a", {{"p", 100}}), ResultOf("b", {{"p", 80}}),
                                            ResultOf("c", {{"p", 110}})};
  const auto below = Compared(SpecOf("below_median_pct"), results);
  EXPECT_EQ(ValueOn(below[0], "p"), "0");
  EXPECT_EQ(ValueOn(below[1], "p"), "20");
  EXPECT_EQ(ValueOn(below[2], "p"), "0");
  const auto above = Compared(SpecOf("above_median_pct"), results);
  EXPECT_EQ(ValueOn(above[1], "p"), "0");
  EXPECT_EQ(ValueOn(above[2], "p"), "10");
}

TEST(CompareNodes, OnlyNodesThatAgreeOnTheirKindAreCompared) {
  knowledge::v1::Check spec = SpecOf("differs");
  spec.mutable_comparisons(0)->set_within("kind");
  const auto of_kind = [](const std::string& node, int value, const std::string& kind) {
    CheckResult result = ResultOf(node, {{"", value}});
    galen::v1::Finding& finding = *result.add_findings();
    finding.set_name("kind");
    finding.set_text_value(kind);
    return result;
  };
  const auto nodes = Compared(spec, {of_kind("a", 1024, "H100"), of_kind("b", 1024, "H100"),
                                     of_kind("c", 4096, "H100"), of_kind("login", 1500, "none")});
  EXPECT_EQ(ValueOn(nodes[0]), "false");
  EXPECT_EQ(ValueOn(nodes[2]), "true");
  EXPECT_EQ(ValueOn(nodes[3]), "unknown");  // no similar node
}

TEST(CompareNodes, FewerNodesThanAskedForAreNotCompared) {
  const auto nodes = Compared(SpecOf("below_median_pct", 3),
                              {ResultOf("a", {{"p", 1}}), ResultOf("b", {{"p", 2}})});
  EXPECT_EQ(ValueOn(nodes[0]), "unknown");
}

}  // namespace
}  // namespace galen::execution
