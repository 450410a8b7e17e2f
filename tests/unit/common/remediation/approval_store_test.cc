// An approval is for one action as it was seen, once, and soon over.
#include "common/remediation/approval_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/remediation/proposals.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/remediation/approval_store_fixture.h"

namespace galen::remediation {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::galen::v1::Action;
using ::testing::HasSubstr;

TEST_F(ActionsTest, AReportProposesWhatItsCausesNeedOnEachTarget) {
  const std::vector<Action> actions = List();
  ASSERT_EQ(actions.size(), 2U);
  EXPECT_EQ(actions[0].state(), Action::PROPOSED);
  EXPECT_EQ(actions[0].target().node(), "n1");
  EXPECT_EQ(actions[1].target().node(), "n2");
  EXPECT_NE(actions[0].content_hash(), actions[1].content_hash());
  EXPECT_EQ(actions[0].target().serial(), "");
  diagnosis_.mutable_report()->set_outcome(galen::v1::Report::NO_CAUSE_CONFIRMED);
  EXPECT_TRUE(List().empty());
}

TEST_F(ActionsTest, AnApprovalIsForOneActionOnOneTargetAndIsTakenOnce) {
  const std::vector<Action> actions = List();
  const auto approved = Decide(Approval(actions[0]));
  ASSERT_THAT(approved, IsOk());
  EXPECT_EQ(approved->state(), Action::APPROVED);
  EXPECT_EQ(approved->decided_by(), "key/ana");
  EXPECT_EQ(List()[1].state(), Action::PROPOSED);
  EXPECT_THAT(Consume(actions[1]).status(),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("nobody approved")));
  ASSERT_THAT(Consume(actions[0]), IsOk());
  EXPECT_THAT(Consume(actions[0]), IsOk());  // the same run asks again
  EXPECT_THAT(Consume(actions[0], "run-2").status(),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("CONSUMED")));
  EXPECT_EQ(List()[0].state(), Action::CONSUMED);
  EXPECT_EQ(List()[0].consumed_by(), "run-1");
}

TEST_F(ActionsTest, TheSameRequestApprovesOnlyOnceAndNeverAfterItExpired) {
  const ApprovalStore::Decision decision = Approval(List()[0]);
  ASSERT_THAT(Decide(decision), IsOk());
  EXPECT_THAT(Decide(decision).status(), StatusIs(absl::StatusCode::kAborted, HasSubstr("etag")));
  clock_.Advance(absl::Minutes(16));
  EXPECT_EQ(List()[0].state(), Action::EXPIRED);
  EXPECT_THAT(Decide(decision).status(), StatusIs(absl::StatusCode::kAborted, HasSubstr("etag")));
  EXPECT_THAT(Consume(List()[0]).status(),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("EXPIRED")));
  // A person who looks again may approve again.
  ASSERT_THAT(Decide(Approval(List()[0])), IsOk());
  EXPECT_THAT(Consume(List()[0]), IsOk());
}

TEST_F(ActionsTest, AnAlteredActionIsNotTheOneThatWasApproved) {
  const Action seen = List()[0];
  diagnosis_.mutable_report()->mutable_primary_cause()->set_mitigation("Wipe the node.");
  EXPECT_THAT(Decide(Approval(seen)).status(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("no longer as it was seen")));
  diagnosis_ = ADiagnosis();
  ASSERT_THAT(Decide(Approval(seen)), IsOk());
  diagnosis_.mutable_report()->mutable_primary_cause()->set_mitigation("Wipe the node.");
  const std::vector<Action> now = List();
  ASSERT_EQ(now.size(), 3U);
  EXPECT_EQ(now[0].text(), "Wipe the node.");
  EXPECT_EQ(now[0].state(), Action::PROPOSED);
  EXPECT_EQ(now[1].state(), Action::WITHDRAWN);
  EXPECT_THAT(Consume(now[0]).status(),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("another action")));
}

TEST_F(ActionsTest, ARejectedActionStaysRejectedAndAnApprovalCanBeTakenBack) {
  Action action = List()[0];
  ASSERT_THAT(Decide(Approval(action)), IsOk());
  ApprovalStore::Decision rejection = Approval(List()[0]);
  rejection.approve = false;
  ASSERT_THAT(Decide(rejection), IsOk());
  EXPECT_THAT(Consume(action).status(),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("REJECTED")));
  EXPECT_THAT(Decide(Approval(List()[0])).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("REJECTED")));
}

TEST_F(ActionsTest, AnotherDiagnosisProposesNoneOfThese) {
  const Action action = List()[0];
  diagnosis_ = ADiagnosis("tenants/other/diagnoses/d1");
  EXPECT_THAT(Decide(Approval(action)).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no such action")));
}

TEST_F(ActionsTest, RefusesWhatIsOutOfBounds) {
  ApprovalStore::Decision decision = Approval(List()[0]);
  decision.etag = "";
  EXPECT_THAT(Decide(decision).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("etag")));
  for (const absl::Duration lifetime :
       {absl::ZeroDuration(), absl::Hours(2), -absl::Seconds(1), absl::InfiniteDuration()}) {
    decision = Approval(List()[0]);
    decision.lifetime = lifetime;
    EXPECT_THAT(Decide(decision).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("lifetime")));
  }
}

TEST_F(ActionsTest, OfManyExecutorsAndApproversOneWins) {
  std::atomic<int> approved = 0;
  std::atomic<int> consumed = 0;
  const Action action = List()[0];
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      if (Decide(Approval(action)).ok()) ++approved;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(approved, 1);
  threads.clear();
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      if (Consume(action, absl::StrCat("run-", i)).ok()) ++consumed;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(consumed, 1);
}

// Galen does it itself.
class RunsTest : public ActionsTest {
 protected:
  RunsTest() {
    diagnosis_.mutable_report()->mutable_primary_cause()->add_evidence_ids("gpu.presence@n1");
  }
  Action Run() { return runs_.List(diagnosis_, clock_.Now()).value()[0]; }
  absl::StatusOr<Action> Approve() {
    return runs_.Decide(diagnosis_, Approval(Run()), clock_.Now());
  }
  std::size_t Due() { return runs_.Due(clock_.Now())->actions.size(); }
  absl::StatusOr<Action> Take() {
    return runs_.Consume(Run().name(), Run().content_hash(), "watch", clock_.Now());
  }

  ApprovalStore runs_{
      store_->records(),
      {{{"cordon", NodeAction::Do::kCordon, "", "", "Cordon ${node}.", {"GPU"}}}, 5}};
};

TEST_F(RunsTest, AreDueFromTheirApprovalUntilTheyAreFinished) {
  ASSERT_EQ(Run().run(), "cordon");
  EXPECT_EQ(Due(), 0u);
  ASSERT_THAT(Approve(), IsOk());
  EXPECT_EQ(Due(), 1u);
  ASSERT_THAT(Take(), IsOk());
  EXPECT_EQ(Due(), 1u);  // taken, and perhaps its taker died
  EXPECT_THAT(runs_.Finish(Run().name(), "another", {true, true, "done"}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("was not taken by")));
  ASSERT_THAT(runs_.Finish(Run().name(), "watch", {true, true, "node n1 is cordoned"}), IsOk());
  ASSERT_THAT(runs_.Finish(Run().name(), "watch", {false, false, "said twice"}), IsOk());
  EXPECT_EQ(Due(), 0u);
  EXPECT_EQ(Run().state(), Action::SUCCEEDED);
  EXPECT_EQ(Run().outcome(), "node n1 is cordoned");
  EXPECT_THAT(Approve().status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("SUCCEEDED")));
  // The report is different now: completed actions stay on record.
  diagnosis_.mutable_report()->set_outcome(galen::v1::Report::NO_CAUSE_CONFIRMED);
  EXPECT_EQ(Run().state(), Action::SUCCEEDED);
}

TEST_F(RunsTest, WhatFailedMayBeApprovedAnewAndIsDueAgain) {
  ASSERT_THAT(Approve(), IsOk());
  ASSERT_THAT(Take(), IsOk());
  ASSERT_THAT(runs_.Finish(Run().name(), "watch", {false, false, "not done: away"}), IsOk());
  EXPECT_EQ(Run().state(), Action::FAILED);
  EXPECT_EQ(Due(), 0u);
  ASSERT_THAT(Approve(), IsOk());
  EXPECT_EQ(Run().outcome(), "");
  EXPECT_EQ(Due(), 1u);
}

TEST_F(RunsTest, ToSayTheEndTwiceTakesNoNewApprovalOffTheList) {
  // Between the two writes of an approval it is due, and its record is still the old one.
  ASSERT_THAT(Approve(), IsOk());
  ASSERT_THAT(Take(), IsOk());
  ASSERT_THAT(runs_.Finish(Run().name(), "watch", {false, false, "not done: away"}), IsOk());
  ASSERT_THAT(store_->records().Put("actions.due", Run().name(),
                                    absl::StrCat(absl::ToUnixSeconds(clock_.Now()), " new"), 0),
              IsOk());
  ASSERT_THAT(runs_.Finish(Run().name(), "watch", {false, false, "not done: away"}), IsOk());
  EXPECT_EQ(store_->records().List("actions.due", "", 10)->size(), 1u);
}

TEST_F(RunsTest, WhatCameOfItIsNewsUntilItIsHeard) {
  ASSERT_THAT(Approve(), IsOk());
  ASSERT_THAT(Take(), IsOk());
  EXPECT_TRUE(runs_.UnacknowledgedResults()->actions.empty());
  ASSERT_THAT(runs_.Finish(Run().name(), "watch", {true, false, "it did not help"}), IsOk());
  ASSERT_EQ(runs_.UnacknowledgedResults()->actions.size(), 1u);
  const Action first = runs_.UnacknowledgedResults()->actions.front();
  EXPECT_TRUE(first.carried_out());
  // Approved again before anybody read the outcome: the next outcome is news, and an
  // acknowledgement of the first does not hide it.
  clock_.Advance(absl::Seconds(1));
  ASSERT_THAT(Approve(), IsOk());
  EXPECT_TRUE(runs_.UnacknowledgedResults()->actions.empty());
  ASSERT_THAT(Take(), IsOk());
  ASSERT_THAT(runs_.Finish(Run().name(), "watch", {true, false, "nor this time"}), IsOk());
  ASSERT_THAT(runs_.Acknowledge(first), IsOk());
  ASSERT_EQ(runs_.UnacknowledgedResults()->actions.size(), 1u);
  ASSERT_THAT(runs_.Acknowledge(runs_.UnacknowledgedResults()->actions.front()), IsOk());
  EXPECT_TRUE(runs_.UnacknowledgedResults()->actions.empty());
}

// Another replica reads the first end while the second one is being written.
TEST_F(RunsTest, ASecondEndIsNewsHoweverLateTheFirstIsHeard) {
  ASSERT_THAT(Approve(), IsOk());
  ASSERT_THAT(Take(), IsOk());
  ASSERT_THAT(runs_.Finish(Run().name(), "watch", {true, false, "it did not help"}), IsOk());
  const auto entry = store_->records().Get("actions.news", Run().name());
  ASSERT_TRUE(entry.ok() && entry->has_value());
  clock_.Advance(absl::Seconds(1));
  ASSERT_THAT(Approve(), IsOk());
  ASSERT_THAT(Take(), IsOk());
  ASSERT_THAT(runs_.Finish(Run().name(), "watch", {true, false, "nor this time"}), IsOk());
  EXPECT_THAT(store_->records().Remove("actions.news", Run().name(), (*entry)->version),
              StatusIs(absl::StatusCode::kAborted, ::testing::_));
  EXPECT_EQ(runs_.UnacknowledgedResults()->actions.size(), 1u);
}

TEST_F(RunsTest, ARecordThatCannotBeReadHoldsUpNoOther) {
  ASSERT_THAT(Approve(), IsOk());
  for (const char* space : {"actions", "actions.due", "actions.news"}) {
    ASSERT_THAT(store_->records().Put(space, "tenants/acme/diagnoses/a/actions/broken", "\xff", 0),
                IsOk());
  }
  EXPECT_EQ(Due(), 1u);
  EXPECT_THAT(runs_.Due(clock_.Now())->unreadable,
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("actions/broken")));
  ASSERT_THAT(Take(), IsOk());
  ASSERT_THAT(runs_.Finish(Run().name(), "watch", {true, false, "it did not help"}), IsOk());
  EXPECT_EQ(runs_.UnacknowledgedResults()->actions.size(), 1u);
  EXPECT_THAT(runs_.UnacknowledgedResults()->unreadable,
              StatusIs(absl::StatusCode::kDataLoss, ::testing::_));
}

TEST_F(RunsTest, ShowHowOftenTheyHelpedBefore) {
  EXPECT_FALSE(Run().has_track_record());
  Action before = Run();
  before.set_carried_out(true);
  before.set_state(Action::SUCCEEDED);
  ASSERT_THAT(RepairOutcomeStore(store_->records()).Add(before), IsOk());
  EXPECT_EQ(Run().track_record().carried_out(), 1);
  EXPECT_EQ(Run().track_record().helped(), 1);
  // It is not part of the approved content.
  EXPECT_EQ(Run().content_hash(), before.content_hash());
}

TEST_F(RunsTest, WhatFailedMayBeRefusedForGood) {
  ASSERT_THAT(Approve(), IsOk());
  ASSERT_THAT(Take(), IsOk());
  ASSERT_THAT(runs_.Finish(Run().name(), "watch", {false, false, "not done: away"}), IsOk());
  ApprovalStore::Decision rejection = Approval(Run());
  rejection.approve = false;
  ASSERT_THAT(runs_.Decide(diagnosis_, rejection, clock_.Now()), IsOk());
  EXPECT_EQ(Run().state(), Action::REJECTED);
}

TEST_F(RunsTest, WhatIsTakenBackOrExpiredIsNotDueAndWhatPeopleDoNever) {
  ASSERT_THAT(Approve(), IsOk());
  ApprovalStore::Decision rejection = Approval(Run());
  rejection.approve = false;
  ASSERT_THAT(runs_.Decide(diagnosis_, rejection, clock_.Now()), IsOk());
  EXPECT_EQ(Due(), 0u);
  const Action of_people = runs_.List(diagnosis_, clock_.Now()).value()[1];
  ASSERT_EQ(of_people.run(), "");
  ASSERT_THAT(runs_.Decide(diagnosis_, Approval(of_people), clock_.Now()), IsOk());
  EXPECT_EQ(Due(), 0u);
}

TEST_F(RunsTest, ExpireLikeAllOthers) {
  ASSERT_THAT(Approve(), IsOk());
  clock_.Advance(kUsualLifetime);
  EXPECT_EQ(Due(), 0u);
  EXPECT_THAT(Take().status(), StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("EXPIRED")));
  ASSERT_THAT(Approve(), IsOk());
  EXPECT_EQ(Due(), 1u);
}

class NodeRunTest : public ::testing::Test {
 protected:
  NodeRunTest() {
    galen::v1::Cause& cause = *diagnosis_.mutable_report()->mutable_primary_cause();
    cause.set_label("SYSTEM_SOFTWARE.GPU_CONFIG.CLOCK_OR_POWER_LIMIT_LOW");
    cause.clear_mitigation();
    cause.add_evidence_ids("gpu.clocks@n1");
    cause.mutable_devices(0)->set_pci_address("0000:3b:00.0");
  }
  absl::StatusOr<galen::v1::Action> Approve(ApprovalStore& approvals) {
    const galen::v1::Action seen = approvals.List(diagnosis_, clock_.Now())->at(0);
    return approvals.Decide(diagnosis_,
                            {seen.name(), seen.etag(), "key/ana", "", absl::Minutes(5), true},
                            clock_.Now());
  }

  galen::testing::FakeClock clock_;
  const std::unique_ptr<store::Store> store_ = store::OpenStore(":memory:").value();
  const NodeActions offered_ =
      LoadNodeActions({GALEN_KNOWLEDGE_DIR}, {"node.reset_gpu_clocks"}).value();
  galen::v1::Diagnosis diagnosis_ = ADiagnosis();
};

TEST_F(NodeRunTest, WhatRunsOnANodeIsApprovedOnlyWhereAWarrantCanBeSigned) {
  ApprovalStore without(store_->records(), offered_);
  EXPECT_THAT(Approve(without), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         ::testing::HasSubstr("with certificates")));
  EXPECT_EQ(without.Due(clock_.Now())->actions.size(), 0u);
}

TEST_F(NodeRunTest, TheWarrantIsMadeOfWhatWasApprovedAndGivenToWhoTookIt) {
  std::string signed_for;
  ApprovalStore approvals(store_->records(), offered_, nullptr,
                          [&](const galen::v1::Action& action, absl::Time expires) {
                            signed_for =
                                absl::StrCat(action.content_hash(), " ", action.decided_by(), " ",
                                             absl::FormatDuration(expires - clock_.Now()));
                            return absl::StatusOr<std::string>("the warrant");
                          });
  const auto approved = Approve(approvals);
  ASSERT_THAT(approved, IsOk());
  EXPECT_EQ(signed_for, absl::StrCat(approved->content_hash(), " key/ana 5m"));
  EXPECT_THAT(approvals.WarrantOf(approved->name(), "r"),
              StatusIs(absl::StatusCode::kPermissionDenied, ::testing::_));
  ASSERT_THAT(approvals.Consume(approved->name(), approved->content_hash(), "r", clock_.Now()),
              IsOk());
  EXPECT_EQ(approvals.WarrantOf(approved->name(), "r").value(), "the warrant");
  EXPECT_THAT(approvals.WarrantOf(approved->name(), "s"),
              StatusIs(absl::StatusCode::kPermissionDenied, ::testing::_));
}

}  // namespace
}  // namespace galen::remediation
