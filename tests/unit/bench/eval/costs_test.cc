#include "bench/eval/metrics/costs.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace galen::eval {
namespace {

void AddRun(v1::CaseResult& result, const std::string& check, const std::string& node,
            const std::string& status, double cost) {
  v1::CheckRun& run = *result.add_checks();
  run.set_check(check);
  run.set_node(node);
  run.set_status(status);
  run.set_cost_seconds(cost);
}

TEST(Costs, NodesWorkSideBySideAndANodeOneCheckAfterTheOther) {
  v1::CaseResult result;
  AddRun(result, "a", "n1", "PASS", 2);
  AddRun(result, "b", "n1", "FAIL", 3);
  AddRun(result, "a", "n2", "ERROR", 2);
  const CheckCosts costs = CostOfChecks(result);
  EXPECT_EQ(costs.checks, 2);
  EXPECT_EQ(costs.runs, 3);
  EXPECT_DOUBLE_EQ(costs.verification_seconds, 5);
  EXPECT_DOUBLE_EQ(costs.machine_seconds, 7);
}

TEST(Costs, ACheckThatWasSkippedTakesNoTime) {
  v1::CaseResult result;
  AddRun(result, "a", "n1", "SKIPPED", 60);
  const CheckCosts costs = CostOfChecks(result);
  EXPECT_EQ(costs.asked, 1);
  EXPECT_EQ(costs.runs, 0);
  EXPECT_EQ(costs.verification_seconds, 0);
}

TEST(Costs, AreMeansOverAllCases) {
  std::vector<v1::CaseResult> results(2);
  AddRun(results[0], "a", "n1", "PASS", 4);
  (*results[0].mutable_reasoner()->mutable_calls())["Judge"] = 6;
  results[0].mutable_reasoner()->set_input_tokens(100);
  const v1::Costs mean = MeanCosts(results);
  EXPECT_DOUBLE_EQ(mean.checks(), 0.5);
  EXPECT_DOUBLE_EQ(mean.verification_seconds(), 2);
  EXPECT_DOUBLE_EQ(mean.reasoner_calls(), 3);
  EXPECT_DOUBLE_EQ(mean.calls().at("Judge"), 3);
  EXPECT_DOUBLE_EQ(mean.input_tokens(), 50);
}

TEST(Costs, OfNoCasesAreNone) { EXPECT_EQ(MeanCosts({}).checks(), 0); }

}  // namespace
}  // namespace galen::eval
