// The outcome of a repair is published: if the machine recovered, as a confirmation of its cause.
#include "services/gateway/actions/outcome_publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"
#include "tests/unit/common/remediation/approval_store_fixture.h"

namespace galen::gateway::actions {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::galen::v1::Action;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

galen::remediation::NodeActions Offered(bool looks) {
  galen::remediation::NodeAction action;
  action.name = "node.reset";
  action.what = galen::remediation::NodeAction::Do::kRun;
  action.text = "Reset ${node}.";
  action.labels = {"GPU"};
  action.run.emplace();
  action.run->name = action.name;
  action.run->text = action.text;
  action.run->labels = action.labels;
  action.run->steps = {{"reset"}};
  if (looks) action.run->verify = {{"gpu.clocks", "low", "false"}};
  galen::remediation::NodeAction cordon;
  cordon.name = "kubernetes.cordon";
  cordon.labels = {"GPU"};
  return {{action, cordon}, 0};
}

class OutcomePublisherTest : public galen::remediation::ActionsTest {
 protected:
  OutcomePublisherTest() {
    diagnosis_.mutable_report()->mutable_primary_cause()->add_evidence_ids("gpu.presence@n1");
  }
  // Approves the proposal for the first machine, and ends it like this.
  void End(bool carried_out, bool succeeded) {
    const Action action = runs_.List(diagnosis_, clock_.Now()).value()[0];
    ASSERT_THAT(runs_.Decide(diagnosis_, Approval(action), clock_.Now()), IsOk());
    ASSERT_THAT(runs_.Consume(action.name(), action.content_hash(), "run", clock_.Now()), IsOk());
    ASSERT_THAT(runs_.Finish(action.name(), "run", {carried_out, succeeded, "1 command ran"}),
                IsOk());
  }
  // One round of a publisher without a thread.
  absl::Status Round(bool looks = true) {
    galen::remediation::RepairOutcomeStore outcomes(store_->records());
    OutcomePublisher publisher(
        runs_, outcomes, Offered(looks),
        [this](const std::string&) -> absl::StatusOr<galen::v1::Diagnosis> {
          if (!read_.ok()) return read_;
          return diagnosis_;
        },
        [this](const galen::v1::SubmitFeedbackRequest& request) {
          submitted_.push_back(request);
          if (stored_) {
            diagnosis_.mutable_confirmation()->set_label(request.confirmed_label());
            diagnosis_.mutable_confirmation()->set_by(request.confirmed_by());
          }
          return submit_;
        },
        {.every = absl::ZeroDuration()});
    return publisher.Round();
  }

  galen::remediation::ApprovalStore runs_{store_->records(), Offered(true), nullptr,
                                          [](const Action&, absl::Time) { return "warrant"; }};
  absl::Status read_, submit_;
  bool stored_ = false;  // submissions are stored even if they return an error
  std::vector<galen::v1::SubmitFeedbackRequest> submitted_;
};

TEST_F(OutcomePublisherTest, ARecoveryConfirmsTheCauseAndCounts) {
  End(true, true);
  ASSERT_THAT(Round(), IsOk());
  ASSERT_THAT(submitted_, SizeIs(1));
  EXPECT_EQ(submitted_[0].name(), "tenants/acme/diagnoses/d1");
  EXPECT_EQ(submitted_[0].confirmed_label(), "GPU.PCIE.FELL_OFF_BUS");
  EXPECT_THAT(submitted_[0].confirmed_by(), HasSubstr("approved by key/ana"));
  EXPECT_THAT(runs_.UnacknowledgedResults()->actions, IsEmpty());
  EXPECT_EQ(runs_.List(diagnosis_, clock_.Now()).value()[0].track_record().helped(), 1);
}

TEST_F(OutcomePublisherTest, WhatDidNotHelpCountsAndConfirmsNothing) {
  End(true, false);
  ASSERT_THAT(Round(), IsOk());
  EXPECT_THAT(submitted_, IsEmpty());
  const Action action = runs_.List(diagnosis_, clock_.Now()).value()[0];
  EXPECT_EQ(action.track_record().carried_out(), 1);
  EXPECT_EQ(action.track_record().helped(), 0);
}

TEST_F(OutcomePublisherTest, WhereNoCheckLooksAfterwardsNothingIsConfirmed) {
  Action action;
  action.set_run("node.reset");
  action.set_label("GPU.PCIE.FELL_OFF_BUS");
  action.set_state(Action::SUCCEEDED);
  EXPECT_EQ(ConfirmationBy(action, Offered(false), diagnosis_).name(), "");
  EXPECT_NE(ConfirmationBy(action, Offered(true), diagnosis_).name(), "");
  // Commands to an API server are not a recovery.
  action.set_run("kubernetes.cordon");
  EXPECT_EQ(ConfirmationBy(action, Offered(true), diagnosis_).name(), "");
}

TEST_F(OutcomePublisherTest, TheRecoveryFromAnotherCauseConfirmsNothing) {
  Action action;
  action.set_run("node.reset");
  action.set_label("GPU.CLOCKS");
  action.set_state(Action::SUCCEEDED);
  *diagnosis_.mutable_report()->add_other_causes() = diagnosis_.report().primary_cause();
  diagnosis_.mutable_report()->mutable_other_causes(0)->set_label("GPU.CLOCKS");
  EXPECT_EQ(ConfirmationBy(action, Offered(true), diagnosis_).name(), "");
  diagnosis_.mutable_report()->mutable_primary_cause()->set_label("GPU.CLOCKS");
  EXPECT_NE(ConfirmationBy(action, Offered(true), diagnosis_).name(), "");
}

// The orchestrator stores a confirmation before it passes it on.
TEST_F(OutcomePublisherTest, AConfirmationThatWasStoredAndNotPassedOnIsRepeated) {
  End(true, true);
  stored_ = true;
  submit_ = absl::UnavailableError("stored, but not passed on");
  EXPECT_THAT(Round(), StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
  submit_ = absl::OkStatus();
  ASSERT_THAT(Round(), IsOk());
  ASSERT_THAT(submitted_, SizeIs(2));
  EXPECT_EQ(submitted_[1].request_id(), submitted_[0].request_id());
  EXPECT_THAT(runs_.UnacknowledgedResults()->actions, IsEmpty());
}

TEST_F(OutcomePublisherTest, AFailureCountsAlsoWhereItIsApprovedAnewBeforeAnybodyHeard) {
  End(true, false);
  ASSERT_THAT(runs_.Decide(diagnosis_, Approval(runs_.List(diagnosis_, clock_.Now()).value()[0]),
                           clock_.Now()),
              IsOk());
  EXPECT_EQ(runs_.List(diagnosis_, clock_.Now()).value()[0].track_record().carried_out(), 1);
  ASSERT_THAT(Round(), IsOk());
  EXPECT_EQ(runs_.List(diagnosis_, clock_.Now()).value()[0].track_record().carried_out(), 1);
}

TEST_F(OutcomePublisherTest, WhereNoCheckLooksAfterwardsNothingIsSaidOfItsHelp) {
  End(true, true);
  ASSERT_THAT(Round(/*looks=*/false), IsOk());
  EXPECT_FALSE(runs_.List(diagnosis_, clock_.Now()).value()[0].has_track_record());
  EXPECT_THAT(runs_.UnacknowledgedResults()->actions, IsEmpty());
}

TEST_F(OutcomePublisherTest, APersonsWordStands) {
  diagnosis_.mutable_confirmation()->set_label("OTHER");
  End(true, true);
  ASSERT_THAT(Round(), IsOk());
  EXPECT_THAT(submitted_, IsEmpty());
  EXPECT_THAT(runs_.UnacknowledgedResults()->actions, IsEmpty());
}

TEST_F(OutcomePublisherTest, WhileTheMeshIsAwayItWaitsAndWhatIsRefusedDoesNot) {
  End(true, true);
  submit_ = absl::UnavailableError("away");
  EXPECT_THAT(Round(), StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
  EXPECT_THAT(runs_.UnacknowledgedResults()->actions, SizeIs(1));
  read_ = absl::NotFoundError("gone");
  ASSERT_THAT(Round(), IsOk());
  EXPECT_THAT(runs_.UnacknowledgedResults()->actions, IsEmpty());
}

}  // namespace
}  // namespace galen::gateway::actions
