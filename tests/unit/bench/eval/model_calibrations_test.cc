#include "bench/eval/metrics/model_calibrations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace galen::eval {
namespace {

void AddOpinion(v1::CaseResult& result, const std::string& label, const std::string& built_in) {
  v1::ModelOpinion& opinion = *result.add_opinions();
  opinion.set_label(label);
  opinion.set_model("it's one");
  opinion.set_built_in(built_in);
}

TEST(ModelCalibrations, CountWhatWasRightByWhatTheBuiltInReasonerHeld) {
  std::vector<v1::Case> cases(3);
  cases[0].add_labels("A.B.C");
  cases[0].add_labels_acceptable("A.B.D");
  cases[0].add_labels_secondary("A.B.E");
  cases[1].add_labels("A.B.C");
  std::vector<v1::CaseResult> results(3);
  AddOpinion(results[0], "A.B.D", "first");
  AddOpinion(results[0], "A.B.E", "first");  // an effect counts neither way
  AddOpinion(results[1], "A.B.D", "first");
  AddOpinion(results[1], "A.B.C", "unlikely");
  AddOpinion(results[2], "A.B.C", "first");  // there is no cause
  const auto measured = MeasureModels(cases, results);
  ASSERT_EQ(measured.size(), 2u);
  EXPECT_EQ(measured[0].built_in(), "first");
  EXPECT_EQ(measured[0].right(), 1);
  EXPECT_EQ(measured[0].of(), 3);
  EXPECT_EQ(measured[1].right(), 1);
  EXPECT_EQ(measured[1].of(), 1);
  auto twice = measured;
  twice.insert(twice.end(), measured.begin(), measured.end());
  EXPECT_THAT(CalibrationsYaml(twice),
              ::testing::HasSubstr("  - {model: 'it''s one', built_in: first, right: 2, of: 6}\n"));
  EXPECT_THAT(CalibrationsYaml({}), ::testing::HasSubstr("llm_calibrations: []"));
}

}  // namespace
}  // namespace galen::eval
