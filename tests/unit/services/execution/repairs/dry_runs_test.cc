// Execution asks a machine for its plan, and does not let it run anything.
#include "services/execution/repairs/dry_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::execution {
namespace {

using galen::testing::IsOk;
using galen::testing::StatusIs;
using galen::v1::CheckResult;
using galen::v1::DryRun;
using node::v1::RepairResponse;
using remediation::RunAction;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kDiagnosisName[] = "tenants/t/diagnoses/d";
constexpr char kPci[] = "0000:86:00.0";

class DryRunsTest : public ::testing::Test {
 protected:
  static RunAction ClocksOfGpu() {
    RunAction action;
    action.name = "node.clocks";
    action.target = RunAction::Target::kGpu;
    action.verify = {{"gpu.clocks", "low", "false"}, {"gpu.clocks", "held", "false"}};
    return action;
  }
  static v1::DryRunRepairRequest Request() {
    v1::DryRunRepairRequest request;
    request.set_diagnosis(kDiagnosisName);
    galen::v1::Action& action = *request.mutable_action();
    action.set_name(absl::StrCat(kDiagnosisName, "/actions/a"));
    action.set_run("node.clocks");
    action.set_content_hash("hash");
    action.mutable_target()->set_node("n1");
    action.mutable_target()->set_device("gpu:4");
    action.mutable_target()->set_pci_address(kPci);
    return request;
  }
  static RepairResponse Would() {
    RepairResponse response;
    response.set_state(RepairResponse::WOULD_RUN);
    DryRun& dry_run = *response.mutable_dry_run();
    dry_run.set_content_hash("hash");
    dry_run.set_same_plan(true);
    dry_run.add_plan("run: reset");
    return response;
  }
  static void Add(CheckResult& result, const std::string& pci, bool low) {
    galen::v1::Finding& finding = *result.add_findings();
    finding.set_name("low");
    finding.mutable_subject()->set_node("n1");
    finding.mutable_subject()->set_pci_address(pci);
    finding.set_bool_value(low);
  }

  absl::StatusOr<DryRun> Ask(const v1::DryRunRepairRequest& request,
                             absl::Duration time = absl::Seconds(30)) {
    absl::StatusOr<DryRun> got = absl::UnknownError("no answer");
    runs_.Start(request, clock_.Now() + time,
                [&got](absl::StatusOr<DryRun> answer) { got = std::move(answer); });
    return got;
  }

  galen::testing::FakeClock clock_{absl::FromUnixSeconds(1'000'000)};
  absl::StatusOr<RepairResponse> answer_ = Would();
  std::vector<CheckResult> found_;
  std::vector<node::v1::RepairRequest> asked_;
  std::vector<std::string> checked_;
  std::vector<absl::Time> deadlines_;
  bool hold_ = false;  // the node does not answer yet
  std::vector<clients::Done<RepairResponse>> held_;
  DryRuns runs_{
      {ClocksOfGpu()},
      clock_,
      [](const std::string& diagnosis, const std::string& node) {
        return diagnosis == kDiagnosisName && node == "n1";
      },
      [this](const std::string& node, const node::v1::RepairRequest& request, absl::Time deadline,
             clients::Done<RepairResponse> done) {
        EXPECT_EQ(node, request.action().target().node());
        asked_.push_back(request);
        deadlines_.push_back(deadline);
        if (hold_) {
          held_.push_back(std::move(done));
        } else {
          std::move(done)(answer_);
        }
      },
      [this](const std::string& node, const std::vector<std::string>& checks, absl::Time deadline,
             absl::AnyInvocable<void(std::vector<CheckResult>) &&> done) {
        for (const std::string& check : checks) checked_.push_back(absl::StrCat(check, "@", node));
        deadlines_.push_back(deadline);
        std::move(done)(found_);
      },
      {.at_once = 2}};
};

TEST_F(DryRunsTest, SaysWhatTheNodeWouldDoAndHowTheTargetIsNow) {
  CheckResult& result = found_.emplace_back();
  result.set_check("gpu.clocks");
  result.set_node("n1");
  result.set_status(CheckResult::FAIL);
  result.set_excerpt("raw");
  Add(result, "0000:07:00.0", false);
  Add(result, kPci, true);
  const auto dry_run = Ask(Request());
  ASSERT_THAT(dry_run, IsOk());
  EXPECT_TRUE(dry_run->would_run());
  EXPECT_TRUE(dry_run->same_plan());
  EXPECT_THAT(dry_run->plan(), ElementsAre("run: reset"));
  EXPECT_THAT(checked_, ElementsAre("gpu.clocks@n1"));  // once, for both of its promises
  ASSERT_EQ(dry_run->checks_size(), 1);
  ASSERT_EQ(dry_run->checks(0).findings_size(), 1);  // of that GPU alone
  EXPECT_TRUE(dry_run->checks(0).findings(0).bool_value());
  EXPECT_EQ(dry_run->checks(0).excerpt(), "");
  // Each ends in time for an answer within the 30 s of the call.
  EXPECT_THAT(deadlines_,
              ElementsAre(clock_.Now() + absl::Seconds(15), clock_.Now() + absl::Seconds(29)));
}

TEST_F(DryRunsTest, WhatIsSentIsADryRunWithoutAWarrantWhateverWasAsked) {
  v1::DryRunRepairRequest request = Request();
  request.mutable_action()->set_state(galen::v1::Action::APPROVED);
  request.mutable_action()->set_decided_by("key/ana");
  ASSERT_THAT(Ask(request), IsOk());
  ASSERT_EQ(asked_.size(), 1U);
  EXPECT_TRUE(asked_[0].dry_run());
  EXPECT_EQ(asked_[0].warrant(), "");
}

TEST_F(DryRunsTest, WhatTheTenantIsNotShownIsAsIfItWereNotThere) {
  v1::DryRunRepairRequest request = Request();
  request.mutable_action()->mutable_target()->set_node("n2");
  const absl::Status hidden = Ask(request).status();
  EXPECT_THAT(asked_, IsEmpty());
  answer_ = absl::NotFoundError("node \"n1\": no such");
  const absl::Status missing = Ask(Request()).status();
  EXPECT_THAT(hidden, StatusIs(absl::StatusCode::kNotFound, HasSubstr("n2: none is registered")));
  EXPECT_THAT(missing, StatusIs(absl::StatusCode::kNotFound, HasSubstr("n1: none is registered")));
}

TEST_F(DryRunsTest, AnActionOfAnotherDiagnosisIsRefused) {
  for (const char* name : {"", "tenants/t/diagnoses/d/actions", "tenants/t/diagnoses/d2/actions/a",
                           "tenants/u/diagnoses/d/actions/a"}) {
    v1::DryRunRepairRequest request = Request();
    request.mutable_action()->set_name(name);
    EXPECT_THAT(Ask(request).status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                                HasSubstr("not an action of the diagnosis")))
        << name;
  }
  v1::DryRunRepairRequest request = Request();
  request.clear_diagnosis();
  request.mutable_action()->set_name("/actions/a");
  EXPECT_THAT(Ask(request).status(), StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(DryRunsTest, WhatIsNotCarriedOutHereIsNotAskedFor) {
  v1::DryRunRepairRequest request = Request();
  request.mutable_action()->set_run("kubernetes.cordon");
  EXPECT_THAT(Ask(request).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--node_actions")));
  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(DryRunsTest, ANodeThatDoesNotAnswerIsAnErrorAndNoEmptyPlan) {
  const struct {
    absl::Status said;
    absl::StatusCode code;
    const char* text;
  } kCases[] = {
      {absl::DeadlineExceededError("x"), absl::StatusCode::kDeadlineExceeded,
       "n1: did not answer within 15s"},
      {absl::UnavailableError("no connection"), absl::StatusCode::kUnavailable,
       "n1: no connection"},
      {absl::UnimplementedError("carries nothing out (--repairs)"),
       absl::StatusCode::kFailedPrecondition, "n1: carries nothing out"},
      {absl::InvalidArgumentError("is not carried out on this machine"),
       absl::StatusCode::kFailedPrecondition, "n1: is not carried out"},
      {absl::PermissionDeniedError("this is n7"), absl::StatusCode::kFailedPrecondition,
       "n1: this is n7"},
      {absl::AbortedError("a repair"), absl::StatusCode::kAborted, "n1: a repair"},
  };
  for (const auto& one : kCases) {
    answer_ = one.said;
    EXPECT_THAT(Ask(Request()).status(), StatusIs(one.code, HasSubstr(one.text)));
  }
  EXPECT_THAT(checked_, IsEmpty());
  // A caller with less time gets an answer before its time is over.
  answer_ = absl::DeadlineExceededError("x");
  EXPECT_THAT(Ask(Request(), absl::Seconds(4)).status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("within 3s")));
  EXPECT_EQ(deadlines_.back(), clock_.Now() + absl::Seconds(3));
  asked_.clear();
  EXPECT_THAT(Ask(Request(), absl::Seconds(1)).status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("no time left")));
  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(DryRunsTest, AnAnswerThatIsNoDryRunIsNotPassedOn) {
  RepairResponse done = Would();
  done.set_state(RepairResponse::DONE);
  RepairResponse empty;
  empty.set_state(RepairResponse::WOULD_RUN);
  for (const RepairResponse& said : {done, empty, RepairResponse()}) {
    answer_ = said;
    EXPECT_THAT(Ask(Request()).status(),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("gave no dry run")));
  }
}

TEST_F(DryRunsTest, OfAnotherPlanNothingIsLookedAt) {
  answer_->set_state(RepairResponse::REFUSED);
  answer_->mutable_dry_run()->set_same_plan(false);
  const auto dry_run = Ask(Request());
  ASSERT_THAT(dry_run, IsOk());
  EXPECT_FALSE(dry_run->would_run());
  EXPECT_EQ(dry_run->checks_size(), 0);
  EXPECT_THAT(checked_, IsEmpty());
}

TEST_F(DryRunsTest, ALongOrUncleanWordOfANodeIsTruncatedAndCleaned) {
  RepairResponse long_winded = Would();
  DryRun& said = *long_winded.mutable_dry_run();
  for (int i = 0; i < 1000; ++i) {
    said.add_plan("run");
    said.add_looks()->set_output(std::string(10'000, 'x'));
  }
  said.mutable_looks(0)->set_command("\x1b[31mred");
  said.add_checks()->set_check("made.up");
  said.set_name("tenants/other");
  answer_ = long_winded;
  const auto dry_run = Ask(Request());
  ASSERT_THAT(dry_run, IsOk());
  EXPECT_EQ(dry_run->plan_size(), 100);
  EXPECT_EQ(dry_run->looks_size(), 100);
  EXPECT_LE(dry_run->looks(5).output().size(), 4096U);
  EXPECT_EQ(dry_run->looks(0).command(), "red");
  ASSERT_EQ(dry_run->checks_size(), 1);
  EXPECT_EQ(dry_run->checks(0).check(), "gpu.clocks");
}

TEST_F(DryRunsTest, ACheckThatTellsNothingIsAnErrorOfItsOwn) {
  const auto dry_run = Ask(Request());
  ASSERT_THAT(dry_run, IsOk());
  ASSERT_EQ(dry_run->checks_size(), 1);
  EXPECT_EQ(dry_run->checks(0).status(), CheckResult::ERROR);
  EXPECT_EQ(dry_run->checks(0).message(), "no answer in time");
}

TEST_F(DryRunsTest, SoManyAtOnceAndNoMore) {
  hold_ = true;
  const auto later = clock_.Now() + absl::Seconds(30);
  int ended = 0;
  for (int i = 0; i < 2; ++i) {
    runs_.Start(Request(), later, [&ended](absl::StatusOr<DryRun>) { ++ended; });
  }
  EXPECT_THAT(Ask(Request()).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, ::testing::_));
  EXPECT_EQ(held_.size(), 2U);
  for (auto& done : held_) std::move(done)(answer_);
  held_.clear();
  EXPECT_EQ(ended, 2);
  hold_ = false;
  EXPECT_THAT(Ask(Request()), IsOk());
}

}  // namespace
}  // namespace galen::execution
