// A confirmed cause is reported before its diagnosis counts as over, and a person may establish
// another one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"
#include "tests/unit/services/orchestrator/orchestrator_fixture.h"

namespace galen::orchestrator {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CausesTest : public OrchestratorTest {
 protected:
  static v1::SubmitFeedbackRequest Confirmation(const std::string& label,
                                                const std::string& request_id) {
    v1::SubmitFeedbackRequest request;
    request.set_name(kName);
    request.set_text("card replaced");
    request.set_confirmed_label(label);
    request.set_confirmed_by("ada");
    request.set_request_id(request_id);
    return request;
  }
};

TEST_F(CausesTest, APersonConfirmsTheCauseOfADiagnosisThatIsOver) {
  Create();
  executor_.RunAll();
  ASSERT_EQ(Get().state(), v1::Diagnosis::SUCCEEDED);
  const std::int64_t last = Get().last_sequence();
  const auto confirmed = orchestrator_->SubmitFeedback(Confirmation("A.B.OTHER", "c1"));
  ASSERT_THAT(confirmed, IsOk());
  EXPECT_THAT(orchestrator_->SubmitFeedback(Confirmation("A.B.OTHER", "c1")), IsOk());  // a repeat
  executor_.RunAll();
  const v1::Diagnosis diagnosis = Get();
  EXPECT_EQ(diagnosis.state(), v1::Diagnosis::SUCCEEDED) << "no round is started";
  EXPECT_EQ(diagnosis.last_sequence(), last + 1);
  EXPECT_EQ(diagnosis.confirmation().label(), "A.B.OTHER");
  EXPECT_EQ(diagnosis.confirmation().by(), "ada");
  EXPECT_EQ(diagnosis.confirmation().note(), "card replaced");
  EXPECT_THAT(diagnosis.feedback(), IsEmpty());
  EXPECT_THAT(log_->ListOrphans(clock_.Now()).value(), IsEmpty());
}

TEST_F(CausesTest, AConfirmationLeavesADiagnosisThatAwaitsFeedbackWhereItIs) {
  world_.truth.clear();
  world_.critique.clear();
  Create();
  executor_.RunAll();
  ASSERT_EQ(Get().state(), v1::Diagnosis::AWAITING_FEEDBACK);
  EXPECT_THAT(orchestrator_->SubmitFeedback(Confirmation("A.B.OTHER", "")), IsOk());
  executor_.RunAll();
  EXPECT_EQ(Get().state(), v1::Diagnosis::AWAITING_FEEDBACK);
  EXPECT_EQ(Get().confirmation().label(), "A.B.OTHER");
}

TEST_F(CausesTest, ACauseInWordsIsConfirmedOnlyIfTheReportStatesOne) {
  Create();
  executor_.RunAll();
  EXPECT_THAT(orchestrator_->SubmitFeedback(Confirmation("IN_WORDS", "c1")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("its report states no cause in words")));
}

TEST_F(CausesTest, AConfirmationIsPassedOnAndAgainWhenItIsRepeated) {
  Create();
  executor_.RunAll();
  confirmed_error_ = absl::UnavailableError("/site: disk full");
  EXPECT_THAT(orchestrator_->SubmitFeedback(Confirmation("A.B.OTHER", "c1")),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("is stored, but not passed on: /site: disk full"),
                             HasSubstr("repeat it"))));
  EXPECT_EQ(Get().confirmation().label(), "A.B.OTHER");
  confirmed_error_ = absl::OkStatus();
  EXPECT_THAT(orchestrator_->SubmitFeedback(Confirmation("A.B.OTHER", "c1")), IsOk());
  EXPECT_THAT(confirmed_, ElementsAre("A.B.OTHER", "A.B.OTHER"));
}

TEST_F(CausesTest, ACauseIsToldBeforeItsDiagnosisCountsAsOver) {
  Create();
  executor_.RunAll();
  EXPECT_THAT(causes_, ElementsAre("E.ADDED"));
  EXPECT_FALSE(over_when_told_) << "a crash in between would lose it";
  EXPECT_THAT(log_->ListOrphans(absl::InfiniteFuture()).value(), IsEmpty());
  // A cause that a person established is reported as well.
  EXPECT_THAT(orchestrator_->SubmitFeedback(Confirmation("A.B.OTHER", "c1")), IsOk());
  EXPECT_THAT(causes_, ElementsAre("E.ADDED", "E.ADDED"));
}

TEST_F(CausesTest, ACauseThatCouldNotBeToldIsToldAgainUntilItIs) {
  cause_error_ = absl::UnavailableError("the store is away");
  Create();
  executor_.RunAll();
  EXPECT_EQ(Get().state(), v1::Diagnosis::SUCCEEDED) << "nobody waits for it";
  EXPECT_THAT(problems_, ElementsAre("the store is away"));
  Pass(absl::Seconds(30));
  EXPECT_GT(causes_.size(), 1U);
  cause_error_ = absl::OkStatus();
  Pass(absl::Seconds(30));
  const std::size_t told = causes_.size();
  EXPECT_THAT(log_->ListOrphans(absl::InfiniteFuture()).value(), IsEmpty());
  Pass(absl::Seconds(30));
  EXPECT_EQ(causes_.size(), told);
}

TEST_F(CausesTest, ACauseThatWillNeverBeTakenIsSaidAndLeft) {
  cause_error_ = absl::DataLossError("records failures: n1: is none");
  Create();
  executor_.RunAll();
  Pass(absl::Seconds(30));
  EXPECT_THAT(causes_, ElementsAre("E.ADDED"));
  EXPECT_THAT(problems_, ElementsAre("records failures: n1: is none"));
  EXPECT_THAT(log_->ListOrphans(absl::InfiniteFuture()).value(), IsEmpty());
}

TEST_F(CausesTest, NoCauseIsToldWhereNoneIsConfirmed) {
  world_.truth.clear();
  world_.critique.clear();
  Create();
  executor_.RunAll();
  ASSERT_EQ(Get().state(), v1::Diagnosis::AWAITING_FEEDBACK);
  EXPECT_THAT(causes_, IsEmpty());
}

TEST_F(CausesTest, NothingIsConfirmedBeforeThereIsAReport) {
  Create();
  EXPECT_THAT(orchestrator_->SubmitFeedback(Confirmation("A.B.OTHER", "c1")),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("when there is a report")));
}

}  // namespace
}  // namespace galen::orchestrator
