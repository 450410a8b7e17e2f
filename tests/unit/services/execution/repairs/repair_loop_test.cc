// An approved action is carried out once, and its outcome is reported.
#include "services/execution/repairs/repair_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/store/store.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::execution {
namespace {

using galen::testing::IsOk;
using galen::v1::Action;
using node::v1::RepairResponse;
using remediation::RunAction;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

RunAction Clocks() {
  RunAction action;
  action.name = "node.clocks";
  action.text = "Reset the clocks of ${node}.";
  action.labels = {"GPU"};
  action.steps = {{"reset"}};
  action.verify = {{"gpu.clocks", "low", "false"}};
  action.recover = absl::ZeroDuration();
  return action;
}

// Two machines with the same cause.
galen::v1::Diagnosis Slow() {
  galen::v1::Diagnosis diagnosis;
  diagnosis.set_name("tenants/t/diagnoses/d");
  galen::v1::Report& report = *diagnosis.mutable_report();
  report.set_outcome(galen::v1::Report::CAUSE_CONFIRMED);
  galen::v1::Cause& cause = *report.mutable_primary_cause();
  cause.set_label("GPU.CLOCKS");
  for (const char* node : {"n1", "n2"}) {
    cause.add_evidence_ids(absl::StrCat("gpu.clocks@", node));
    cause.add_devices()->set_node(node);
  }
  return diagnosis;
}

class RepairLoopTest : public ::testing::Test {
 protected:
  RepairLoopTest() {
    remediation::NodeAction offered;
    offered.name = Clocks().name;
    offered.what = remediation::NodeAction::Do::kRun;
    offered.text = Clocks().text;
    offered.labels = Clocks().labels;
    offered.run = Clocks();
    approvals_ = std::make_unique<remediation::ApprovalStore>(
        store_->records(), remediation::NodeActions{{offered}, 0}, nullptr,
        [](const Action& action, absl::Time) {
          return absl::StatusOr<std::string>("warrant of " + action.target().node());
        });
  }
  Action Approve(const std::string& node) {
    const std::vector<Action> actions = approvals_->List(diagnosis_, clock_.Now()).value();
    for (const Action& action : actions) {
      if (action.target().node() != node) continue;
      return approvals_
          ->Decide(diagnosis_,
                   {action.name(), action.etag(), "key/ana", "", absl::Minutes(15), true},
                   clock_.Now())
          .value();
    }
    ADD_FAILURE() << node;
    return {};
  }
  std::unique_ptr<RepairLoop> Start() {
    return std::make_unique<RepairLoop>(
        *approvals_, breaker_, std::vector<RunAction>{Clocks()}, clock_,
        [this](const std::string& node, const node::v1::RepairRequest& request, absl::Duration,
               const Cancellation&) {
          EXPECT_EQ(request.warrant(), "warrant of " + node);
          EXPECT_EQ(request.action().target().node(), node);
          const std::lock_guard<std::mutex> lock(mu_);
          asked_.push_back(node);
          return RepairLoop::Asked{sent_, answer_(node)};
        },
        [this](const std::string& node, const std::vector<std::string>& checks,
               const Cancellation&) {
          EXPECT_THAT(checks, ElementsAre("gpu.clocks"));
          galen::v1::CheckResult result;
          result.set_check("gpu.clocks");
          result.set_node(node);
          galen::v1::Finding& finding = *result.add_findings();
          finding.set_name("low");
          finding.set_bool_value(still_low_);
          return std::vector<galen::v1::CheckResult>{result};
        },
        RepairLoop::Options{.every = absl::Milliseconds(1), .look = absl::Milliseconds(1)});
  }
  Action Now(const Action& action) {
    const std::vector<Action> actions = approvals_->List(diagnosis_, clock_.Now()).value();
    for (const Action& one : actions) {
      if (one.name() == action.name()) return one;
    }
    return {};
  }
  // Waits until it is no longer under way.
  Action Ended(const Action& action) {
    for (int i = 0; i < 20'000; ++i) {
      const Action now = Now(action);
      if (now.state() == Action::SUCCEEDED || now.state() == Action::FAILED) return now;
      absl::SleepFor(absl::Milliseconds(1));
    }
    ADD_FAILURE() << "is " << Action::State_Name(Now(action).state());
    return {};
  }
  static absl::StatusOr<RepairResponse> Says(RepairResponse::State state,
                                             const std::string& text = "text") {
    RepairResponse response;
    response.set_state(state);
    response.set_text(text);
    return response;
  }

  galen::testing::FakeClock clock_{absl::FromUnixSeconds(1'800'000'000)};
  const std::unique_ptr<store::Store> store_ = store::OpenStore(":memory:").value();
  std::unique_ptr<remediation::ApprovalStore> approvals_;
  remediation::RepairCircuitBreaker breaker_{store_->records(), {.at_once = 2, .failures = 1}};
  galen::v1::Diagnosis diagnosis_ = Slow();
  std::atomic<bool> still_low_ = false;
  std::mutex mu_;
  std::vector<std::string> asked_;
  std::atomic<bool> sent_ = true;
  std::function<absl::StatusOr<RepairResponse>(const std::string&)> answer_ =
      [](const std::string&) { return Says(RepairResponse::DONE, "1 command ran"); };
};

TEST_F(RepairLoopTest, WhatWasApprovedIsDoneOnceAndSucceedsWhenACheckFindsSo) {
  const Action approved = Approve("n1");
  const auto loop = Start();
  const Action ended = Ended(approved);
  EXPECT_EQ(ended.state(), Action::SUCCEEDED);
  EXPECT_EQ(ended.outcome(), "1 command ran; afterwards gpu.clocks finds low false");
  const std::lock_guard<std::mutex> lock(mu_);
  EXPECT_THAT(asked_, ElementsAre("n1"));  // n2 was proposed, too, and nobody approved it
}

TEST_F(RepairLoopTest, ThatCommandsRanIsNoSuccessAndStopsTheFleet) {
  still_low_ = true;
  const Action first = Approve("n1");
  const auto loop = Start();
  const Action ended = Ended(first);
  EXPECT_EQ(ended.state(), Action::FAILED);
  EXPECT_THAT(ended.outcome(), HasSubstr("finds low true, and not false"));
  // The breaker is open: one failure is as many as may be here.
  while (breaker_.Begin("probe", "n9", clock_.Now()).ok()) {
    static_cast<void>(breaker_.End("probe", false, clock_.Now()));
    absl::SleepFor(absl::Milliseconds(1));
  }
  const Action second = Approve("n2");
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_EQ(Now(second).state(), Action::APPROVED);
  clock_.Advance(absl::Minutes(16));
  EXPECT_EQ(Now(second).state(), Action::EXPIRED);
  const std::lock_guard<std::mutex> lock(mu_);
  EXPECT_THAT(asked_, ElementsAre("n1"));
}

TEST_F(RepairLoopTest, OneThatWasRefusedBeforeItBeganIsNoFailureOfTheFleet) {
  answer_ = [](const std::string&) { return Says(RepairResponse::REFUSED, "a process is on it"); };
  const Action first = Approve("n1");
  const auto loop = Start();
  EXPECT_EQ(Ended(first).outcome(), "a process is on it");
  const Action second = Approve("n2");
  EXPECT_EQ(Ended(second).state(), Action::FAILED);
}

TEST_F(RepairLoopTest, ANodeThatIsAwayIsAskedAgainAndGivenUpInTheEnd) {
  std::atomic<int> calls = 0;
  answer_ = [&calls](const std::string&) -> absl::StatusOr<RepairResponse> {
    if (++calls < 5) return absl::UnavailableError("no answer");
    return Says(RepairResponse::DONE);
  };
  const Action first = Approve("n1");
  auto loop = Start();
  EXPECT_EQ(Ended(first).state(), Action::SUCCEEDED);
  EXPECT_EQ(calls, 5);
  loop.reset();
  answer_ = [this](const std::string&) -> absl::StatusOr<RepairResponse> {
    clock_.Advance(absl::Minutes(1));
    return absl::UnavailableError("no answer");
  };
  sent_ = false;
  const Action second = Approve("n2");
  loop = Start();
  const Action ended = Ended(second);
  EXPECT_EQ(ended.outcome(), "not done: no answer");
  EXPECT_FALSE(ended.carried_out());
}

TEST_F(RepairLoopTest, OfWhatMayHaveComeToItsNodeNobodySaysThatItWasNotDone) {
  answer_ = [this](const std::string&) -> absl::StatusOr<RepairResponse> {
    clock_.Advance(absl::Minutes(1));
    sent_ = false;  // the first went out, and the machine has been gone since
    return absl::UnavailableError("no answer");
  };
  const Action first = Approve("n1");
  const auto loop = Start();
  const Action ended = Ended(first);
  EXPECT_EQ(ended.outcome(), "not known whether it was done: no answer");
  EXPECT_TRUE(ended.carried_out());
}

TEST_F(RepairLoopTest, NorDoesOneThatTakesOverFromAProgramThatDied) {
  const Action approved = Approve("n1");
  ASSERT_THAT(approvals_->Consume(approved.name(), approved.content_hash(), "galen-execution",
                                  clock_.Now()),
              IsOk());
  sent_ = false;
  answer_ = [this](const std::string&) -> absl::StatusOr<RepairResponse> {
    clock_.Advance(absl::Minutes(1));
    return absl::UnavailableError("no answer");
  };
  const auto loop = Start();
  EXPECT_TRUE(Ended(approved).carried_out());
}

TEST_F(RepairLoopTest, AnotherTakesOverWhatOneLeft) {
  std::atomic<bool> hang = true;
  answer_ = [&hang](const std::string&) -> absl::StatusOr<RepairResponse> {
    if (hang) return absl::CancelledError("this program ends");
    return Says(RepairResponse::INTERRUPTED, "begun before");
  };
  const Action approved = Approve("n1");
  auto one = Start();
  while (Now(approved).state() != Action::CONSUMED) absl::SleepFor(absl::Milliseconds(1));
  one.reset();
  EXPECT_EQ(Now(approved).state(), Action::CONSUMED);
  hang = false;
  const auto other = Start();
  const Action ended = Ended(approved);
  EXPECT_EQ(ended.state(), Action::SUCCEEDED);
  EXPECT_THAT(ended.outcome(), HasSubstr("begun before; afterwards gpu.clocks finds low false"));
}

TEST_F(RepairLoopTest, WhatThisProgramDoesNotCarryOutIsLeftAlone) {
  const Action approved = Approve("n1");
  const RepairLoop loop(
      *approvals_, breaker_, {}, clock_,
      [](auto&&...) -> RepairLoop::Asked {
        ADD_FAILURE();
        return {false, absl::InternalError("")};
      },
      [](auto&&...) { return std::vector<galen::v1::CheckResult>(); },
      RepairLoop::Options{.every = absl::Milliseconds(1)});
  absl::SleepFor(absl::Milliseconds(30));
  EXPECT_EQ(Now(approved).state(), Action::APPROVED);
}

}  // namespace
}  // namespace galen::execution
