// Outcomes of repairs are stored with their origin, counted once, and can be withdrawn.
#include "common/remediation/repair_outcome_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/remediation/approval_store_fixture.h"

namespace galen::remediation {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::galen::v1::Action;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class OutcomesTest : public ActionsTest {
 protected:
  static Action Ended(int number, bool helped) {
    Action action;
    action.set_name(absl::StrCat("tenants/t/diagnoses/d", number, "/actions/a"));
    action.set_label("GPU.CLOCKS");
    action.set_run("node.reset_gpu_clocks");
    action.mutable_target()->set_node("n1");
    action.mutable_consume_time()->set_seconds(1'800'000'000 + number);
    action.set_decided_by("key/ana");
    action.set_carried_out(true);
    action.set_state(helped ? Action::SUCCEEDED : Action::FAILED);
    action.set_outcome("3 commands ran");
    return action;
  }
  galen::v1::TrackRecord Record() {
    return TrackRecordOf(outcomes_.Of("GPU.CLOCKS", "node.reset_gpu_clocks").value());
  }
  RepairOutcomeStore outcomes_{store_->records()};
};

TEST_F(OutcomesTest, EachCountsOnceWithWhereItComesFrom) {
  for (const int again : {1, 2}) {
    (void)again;
    ASSERT_THAT(outcomes_.Add(Ended(1, true)), IsOk());
    ASSERT_THAT(outcomes_.Add(Ended(2, false)), IsOk());
  }
  EXPECT_EQ(Record().carried_out(), 2);
  EXPECT_EQ(Record().helped(), 1);
  const auto all = outcomes_.List();
  ASSERT_THAT(all, IsOk());
  ASSERT_THAT(*all, SizeIs(1));
  EXPECT_EQ(all->front().outcomes(0).action(), "tenants/t/diagnoses/d1/actions/a");
  EXPECT_EQ(all->front().outcomes(0).approved_by(), "key/ana");
}

TEST_F(OutcomesTest, WhatWasNotCarriedOutOrIsUnderWayTellsNothing) {
  Action refused = Ended(1, false);
  refused.set_carried_out(false);
  Action running = Ended(2, true);
  running.set_state(Action::CONSUMED);
  ASSERT_THAT(outcomes_.Add(refused), IsOk());
  ASSERT_THAT(outcomes_.Add(running), IsOk());
  EXPECT_THAT(*outcomes_.List(), IsEmpty());
}

TEST_F(OutcomesTest, APersonTakesOneBackAndItStaysOnRecord) {
  ASSERT_THAT(outcomes_.Add(Ended(1, true)), IsOk());
  ASSERT_THAT(outcomes_.Add(Ended(2, true)), IsOk());
  const std::string name = Ended(1, true).name();
  EXPECT_THAT(outcomes_.Strike(name, "", "why"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("who")));
  EXPECT_THAT(outcomes_.Strike("tenants/t/diagnoses/d9/actions/a", "bob", "why"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("d9")));
  ASSERT_THAT(outcomes_.Strike(name, "bob", "the job had ended by itself"), IsOk());
  EXPECT_EQ(Record().carried_out(), 1);
  const auto outcomes = outcomes_.Of("GPU.CLOCKS", "node.reset_gpu_clocks");
  ASSERT_THAT(outcomes, IsOk());
  EXPECT_EQ(outcomes->outcomes(0).struck_by(), "bob");
  // A repeated report does not restore it.
  ASSERT_THAT(outcomes_.Add(Ended(1, true)), IsOk());
  EXPECT_EQ(Record().carried_out(), 1);
}

TEST_F(OutcomesTest, TheOldestGoWhenThereAreTooMany) {
  for (int i = 0; i < kMostOutcomes + 5; ++i) {
    ASSERT_THAT(outcomes_.Add(Ended(i, i % 2 == 0)), IsOk());
  }
  EXPECT_EQ(Record().carried_out(), kMostOutcomes);
  EXPECT_EQ(outcomes_.List()->front().outcomes(0).action(), Ended(5, true).name());
}

}  // namespace
}  // namespace galen::remediation
