// Earlier failures come from the record of diagnoses, through the runner, as in a diagnosis.
#include "services/execution/history_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "common/store/store.h"
#include "runner_test_base.h"
#include "tests/testing/status_matchers.h"

namespace galen::execution {
namespace {

using galen::testing::IsOk;
using galen::v1::CheckResult;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kCheck[] = "history.node";

class HistoryChecksTest : public RunnerTestBase {
 protected:
  // A diagnosis created this long ago found the device at fault.
  void Failed(int days_ago, const std::string& node, const std::string& device) {
    galen::v1::Diagnosis diagnosis;
    diagnosis.set_name(absl::StrCat("tenants/other/diagnoses/d", ++diagnoses_));
    diagnosis.mutable_create_time()->set_seconds(
        absl::ToUnixSeconds(clock_.Now() - absl::Hours(24) * days_ago));
    diagnosis.mutable_report()->set_outcome(galen::v1::Report::CAUSE_CONFIRMED);
    galen::v1::Cause& cause = *diagnosis.mutable_report()->mutable_primary_cause();
    cause.set_label("GPU.MEMORY.UNCORRECTABLE_ECC");
    cause.set_owner("provider");
    cause.add_devices()->set_node(node);
    cause.mutable_devices(0)->set_device(device);
    ASSERT_THAT(failure_store_.Note(diagnosis), IsOk());
  }

  std::map<std::string, CheckResult> Run(const v1::RunChecksRequest& request) {
    CheckRunner::Options options;
    options.history = &history_;
    return RunnerTestBase::Ask(std::move(options), request);
  }
  static v1::RunChecksRequest Question(const std::vector<std::string>& nodes) {
    v1::RunChecksRequest request;
    request.add_checks(kCheck);
    request.set_diagnosis("tenants/t/diagnoses/this");
    request.mutable_nodes()->Assign(nodes.begin(), nodes.end());
    return request;
  }
  static std::vector<std::string> Findings(const CheckResult& result) {
    std::vector<std::string> findings;
    for (const auto& finding : result.findings()) {
      findings.push_back(absl::StrCat(finding.name(), " ", finding.subject().device(), " ",
                                      finding.int_value(), finding.abnormal() ? " abnormal" : ""));
    }
    return findings;
  }

  std::unique_ptr<store::Store> store_ = store::OpenStore(":memory:").value();
  node_history::NodeFailureStore failure_store_{store_->records()};
  HistoryChecks history_{failure_store_, clock_};
  int diagnoses_ = 0;
};

TEST_F(HistoryChecksTest, ThreeFailuresOfOneGpuOverWeeksAreAbnormal) {
  Failed(60, "n1", "gpu:3");
  Failed(30, "n1", "gpu:3");
  Failed(20, "n1", "nic:mlx5_0");
  Failed(10, "n1", "gpu:3/link:1");
  Failed(10, "n2", "gpu:0");
  const auto results = Run(Question({"n1", "n2", "n3"}));
  ASSERT_EQ(results.size(), 3U);
  const CheckResult& n1 = results.at("history.node@n1");
  EXPECT_EQ(n1.status(), CheckResult::FAIL) << n1.message();
  EXPECT_THAT(Findings(n1),
              ElementsAre("failures_same_node  4", "failures_same_device gpu:3 3 abnormal",
                          "failures_same_device nic:mlx5_0 1"));
  EXPECT_THAT(n1.message(),
              AllOf(HasSubstr("4 earlier failures of n1 in the 90 days"), HasSubstr("3 on gpu:3")));
  EXPECT_THAT(n1.excerpt(), HasSubstr("GPU.MEMORY.UNCORRECTABLE_ECC on gpu:3"));
  EXPECT_EQ(results.at("history.node@n2").status(), CheckResult::PASS);
  EXPECT_THAT(Findings(results.at("history.node@n2")),
              ElementsAre("failures_same_node  1", "failures_same_device gpu:0 1"));
}

TEST_F(HistoryChecksTest, ANodeOfWhichNothingIsKnownIsNotSaidToHaveNeverFailed) {
  Failed(60, "n1", "gpu:3");
  const auto results = Run(Question({"n2"}));
  const CheckResult& n2 = results.at("history.node@n2");
  EXPECT_EQ(n2.status(), CheckResult::PASS);
  EXPECT_THAT(n2.findings(), IsEmpty());
  EXPECT_THAT(n2.message(), HasSubstr("no earlier failure of n2 is on record"));
}

TEST_F(HistoryChecksTest, AMeshThatHasNoRecordYetSkipsIt) {
  const auto results = Run(Question({"n1"}));
  EXPECT_EQ(results.at("history.node@n1").status(), CheckResult::SKIPPED);
  EXPECT_THAT(results.at("history.node@n1").message(), HasSubstr("on record yet"));
}

TEST_F(HistoryChecksTest, AnotherTenantsDiagnosisIsNotNamed) {
  Failed(60, "n1", "gpu:3");
  EXPECT_THAT(Run(Question({"n1"})).at("history.node@n1").ShortDebugString(),
              Not(HasSubstr("tenants/other")));
}

TEST_F(HistoryChecksTest, MachinesOfABundleAreNotTakenForLiveOnesOfTheSameName) {
  Failed(60, "n1", "gpu:3");
  v1::RunChecksRequest request = Question({"n1"});
  request.set_bundle("/bundles/b");
  const CheckResult result = Run(request).at("history.node@n1");
  EXPECT_EQ(result.status(), CheckResult::SKIPPED);
  EXPECT_THAT(result.message(), HasSubstr("live nodes"));
}

TEST_F(HistoryChecksTest, AnIncidentOfLongAgoSeesWhatWasThereThen) {
  Failed(60, "n1", "gpu:3");
  Failed(10, "n1", "gpu:3");
  v1::RunChecksRequest request = Question({"n1"});
  request.mutable_start_time()->set_seconds(
      absl::ToUnixSeconds(clock_.Now() - absl::Hours(24 * 30)));
  EXPECT_THAT(Findings(Run(request).at("history.node@n1")),
              ElementsAre("failures_same_node  1", "failures_same_device gpu:3 1"));
  // A time in the future counts as now.
  request.mutable_start_time()->set_seconds(
      absl::ToUnixSeconds(clock_.Now() + absl::Hours(24 * 80)));
  EXPECT_THAT(Findings(Run(request).at("history.node@n1")),
              ElementsAre("failures_same_node  2", "failures_same_device gpu:3 2"));
}

TEST_F(HistoryChecksTest, ARecordThatCannotBeReadIsAnErrorOfItsNodeAlone) {
  Failed(60, "n1", "gpu:3");
  ASSERT_THAT(store_->records().Put("failures", "n2", "no message", 0), IsOk());
  const auto results = Run(Question({"n1", "n2"}));
  EXPECT_EQ(results.at("history.node@n1").status(), CheckResult::PASS);
  EXPECT_EQ(results.at("history.node@n2").status(), CheckResult::ERROR);
  EXPECT_THAT(results.at("history.node@n2").message(), HasSubstr("records failures"));
}

TEST_F(HistoryChecksTest, OtherChecksAreLeftToNodes) {
  Failed(60, "n1", "gpu:3");
  v1::RunChecksRequest request = Question({"n1"});
  request.add_checks("gpu.ecc");
  const auto results = Run(request);
  EXPECT_EQ(results.at("history.node@n1").status(), CheckResult::PASS);
  EXPECT_THAT(results.at("gpu.ecc@n1").message(), HasSubstr("none is registered"));
}

TEST_F(HistoryChecksTest, WhoDoesNotSayWhatItCountsIsTold) {
  knowledge::v1::Check check;
  check.set_name(kCheck);
  EXPECT_EQ(WindowOf(check, {}, clock_.Now()).status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace galen::execution
