#include "bench/eval/runner/declared_nodes.h"

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::eval {
namespace {

using galen::v1::CheckResult;
using testing::HasSubstr;

std::shared_ptr<const knowledge::Knowledge> TheKnowledge() {
  knowledge::v1::KnowledgeBase base;
  knowledge::v1::Check& check = *base.add_checks();
  check.set_name("gpu.ecc");
  knowledge::v1::FindingSpec& finding = *check.add_findings();
  finding.set_name("errors");
  finding.set_type("int");
  finding.mutable_abnormal()->set_op(knowledge::v1::Rule::GT);
  finding.mutable_abnormal()->set_value("0");
  base.add_checks()->set_name("gpu.other");
  knowledge::v1::Check& off = *base.add_checks();
  off.set_name("gpu.off");
  off.set_off(true);
  return std::make_shared<const knowledge::Knowledge>(std::move(base));
}

v1::Case ACase() {
  v1::Case a_case;
  v1::DeclaredNode& node = *a_case.add_nodes();
  node.set_name("n1");
  CheckResult& result = *node.add_results();
  result.set_check("gpu.ecc");
  result.set_status(CheckResult::PASS);  // as a person wrote it
  galen::v1::Finding& finding = *result.add_findings();
  finding.set_name("errors");
  finding.mutable_subject()->set_device("gpu:1");
  finding.set_int_value(3);
  node.add_results()->set_check("gpu.off");
  return a_case;
}

std::vector<CheckResult> ResultsOf(DeclaredNodes& nodes, const std::vector<std::string>& checks,
                                   const std::string& node) {
  galen::node::v1::RunChecksRequest request;
  request.mutable_checks()->Assign(checks.begin(), checks.end());
  request.set_node(node);
  std::vector<CheckResult> results;
  std::promise<void> ended;
  nodes.RunChecks(
      request, absl::InfiniteFuture(),
      [&](CheckResult result) { results.push_back(std::move(result)); },
      [&](absl::Status status) {
        EXPECT_TRUE(status.ok()) << status;
        ended.set_value();
      });
  ended.get_future().wait();
  return results;
}

TEST(DeclaredNodes, AFindingIsJudgedByTheCatalogueAndNotByWhoWroteIt) {
  DeclaredNodes nodes(ACase(), TheKnowledge());
  const std::vector<CheckResult> results = ResultsOf(nodes, {"gpu.ecc"}, "n1");
  ASSERT_EQ(results.size(), 1);
  EXPECT_EQ(results[0].id(), "gpu.ecc@n1");
  EXPECT_EQ(results[0].status(), CheckResult::FAIL);
  ASSERT_EQ(results[0].findings_size(), 1);
  EXPECT_TRUE(results[0].findings(0).abnormal());
  EXPECT_EQ(results[0].findings(0).subject().node(), "n1");
}

TEST(DeclaredNodes, WhatIsNotDeclaredIsSkippedAndNeverPasses) {
  DeclaredNodes nodes(ACase(), TheKnowledge());
  const std::vector<CheckResult> results = ResultsOf(nodes, {"gpu.other", "gpu.off"}, "n1");
  ASSERT_EQ(results.size(), 2);
  for (const CheckResult& result : results) EXPECT_EQ(result.status(), CheckResult::SKIPPED);
  EXPECT_THAT(results[1].message(), HasSubstr("switched off"));
  EXPECT_EQ(ResultsOf(nodes, {"gpu.ecc"}, "n2")[0].status(), CheckResult::SKIPPED);
}

TEST(DeclaredNodes, AFindingThatNoCheckEmitsIsAnError) {
  v1::Case a_case = ACase();
  a_case.mutable_nodes(0)->mutable_results(0)->mutable_findings(0)->set_name("invented");
  DeclaredNodes nodes(a_case, TheKnowledge());
  EXPECT_EQ(ResultsOf(nodes, {"gpu.ecc"}, "n1")[0].status(), CheckResult::ERROR);
}

TEST(DeclaredNodes, ACaseWithoutNodesAnswersForNone) {
  DeclaredNodes nodes(v1::Case(), TheKnowledge());
  EXPECT_TRUE(nodes.ByName().empty());
  DeclaredNodes others(ACase(), TheKnowledge());
  EXPECT_EQ(others.ByName().size(), 1);
}

}  // namespace
}  // namespace galen::eval
