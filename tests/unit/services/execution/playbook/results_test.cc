#include "services/execution/playbook/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::playbook {
namespace results_test {

using galen::v1::CheckResult;
using galen::v1::Course;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::size_t kPoints = 1000;

timeseries::Grid Axis() {
  return {absl::FromUnixSeconds(1'700'000'000), absl::Seconds(15), kPoints};
}

knowledge::v1::Check Spec() {
  knowledge::v1::Check spec;
  spec.set_name("telemetry.test");
  const auto add = [&](const char* name, const char* type, const char* subject, const char* limit) {
    auto& finding = *spec.add_findings();
    finding.set_name(name);
    finding.set_type(type);
    finding.set_subject(subject);
    finding.mutable_abnormal()->set_op(knowledge::v1::Rule::GT);
    finding.mutable_abnormal()->set_value(limit);
  };
  add("hot", "float", "gpu", "80");
  add("errors", "int", "nic", "0");
  return spec;
}

struct Case {
  Step hot{.check = "telemetry.test", .finding = "hot", .test = "highest"};
  Step errors{.check = "telemetry.test", .finding = "errors", .test = "growth"};
  std::shared_ptr<Rows> rows = std::make_shared<Rows>();
  Examination examination;

  Case() {
    *rows = {"temperature",
             "C",
             false,
             Axis(),
             {{.node = "n1", .device = "0"}, {.node = "n2", .device = "3"}},
             {2, kPoints}};
    for (std::size_t t = 0; t < kPoints; ++t) {
      rows->values.Row(0)[t] = 60;
      rows->values.Row(1)[t] = 95;
    }
    examination.check = "telemetry.test";
    examination.remarks = {"from a to b"};
    examination.observations.push_back({&hot, rows->places[0], 60.0, "60", rows, 0});
    examination.observations.push_back({&hot, rows->places[1], 95.0, "95 C", rows, 1});
    examination.observations.push_back(
        {&errors, {.node = "n2", .device = "mlx5_0", .port = "1"}, 0.0, "", nullptr, -1});
  }
};

TEST(ResultsTest, EachNodeGetsWhatIsItsOwnAndThePictureOfWhatIsAbnormal) {
  const Case c;
  const auto results = ResultsOf(Spec(), c.examination, {"n1", "n2"});
  ASSERT_THAT(results, SizeIs(2));
  EXPECT_EQ(results[0].status(), CheckResult::PASS);
  EXPECT_EQ(results[0].id(), "telemetry.test@n1");
  EXPECT_EQ(results[0].findings(0).subject().device(), "gpu:0");
  EXPECT_THAT(results[0].courses(), SizeIs(0));
  EXPECT_EQ(results[1].status(), CheckResult::FAIL);
  EXPECT_THAT(results[1].message(), HasSubstr("n2 3: hot: 95 C"));
  EXPECT_EQ(results[1].findings(1).subject().device(), "nic:mlx5_0/port:1");
  ASSERT_THAT(results[1].courses(), SizeIs(2));
  EXPECT_EQ(results[1].courses(0).role(), Course::SUSPECT);
  EXPECT_EQ(results[1].courses(1).role(), Course::PEERS);
  EXPECT_LE(results[1].courses(0).values_size(), 240);
  EXPECT_EQ(results[1].courses(0).values(0), 95);
  EXPECT_EQ(results[1].courses(1).values(0), 60);
  EXPECT_THAT(results[1].excerpt(), HasSubstr("from a to b"));
}

TEST(ResultsTest, WhatAStepSawNothingOfIsUnknownOnThatNode) {
  const Case c;
  const auto results = ResultsOf(Spec(), c.examination, {"n1"});
  ASSERT_THAT(results[0].findings(), SizeIs(2));
  EXPECT_EQ(results[0].findings(1).name(), "errors");
  EXPECT_EQ(results[0].findings(1).value_case(), galen::v1::Finding::VALUE_NOT_SET);
  EXPECT_THAT(results[0].message(), HasSubstr("not known: errors: no series of this node"));
}

TEST(ResultsTest, IncompleteNumbersAccuseButClearNobody) {
  Case c;
  c.examination.complete = false;
  c.examination.remarks.push_back("cut at 4000000 samples");
  const auto results = ResultsOf(Spec(), c.examination, {"n1", "n2"});
  EXPECT_EQ(results[0].status(), CheckResult::SKIPPED);
  EXPECT_THAT(results[0].message(), HasSubstr("not an all-clear: cut at 4000000 samples"));
  EXPECT_EQ(results[1].status(), CheckResult::FAIL);
}

TEST(ResultsTest, WhereNothingCouldBeToldTheCheckIsSkippedWithWhatToCollect) {
  Case c;
  c.hot.collect = "the counters";
  c.examination.status = absl::NotFoundError("no series");
  const auto results = ResultsOf(Spec(), c.examination, {"n1", "n2"});
  ASSERT_THAT(results, SizeIs(2));
  EXPECT_EQ(results[1].status(), CheckResult::SKIPPED);
  EXPECT_THAT(results[1].message(), HasSubstr("no series"));
  EXPECT_THAT(results[1].wanted(), ElementsAre("the counters"));
}

}  // namespace results_test
}  // namespace galen::playbook
