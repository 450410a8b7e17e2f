// Changes that people make to tickets come back to the diagnosis.
#include "services/gateway/tickets/inbound_updates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/gateway/tickets/ticket_world.h"

namespace galen::gateway::tickets {
namespace news_test {

using ::galen::testing::StatusIs;
using ::testing::HasSubstr;
using Kind = UpdateResult::Kind;

constexpr char kName[] = "tenants/acme/diagnoses/d1";

class InboundUpdatesTest : public ::testing::Test {
 protected:
  InboundUpdatesTest() {
    world_.site.targets[0].own_accounts = {"galen-bot"};
    world_.Conclude(kName);
    world_.RunUntil(world_.clock.Now() + absl::Hours(1));
    id_ = world_.ticket_store.GetTicket("t", kName).value()->value.id();
  }
  absl::StatusOr<UpdateResult> Apply(TicketUpdate::Kind kind, const std::string& text,
                                     const std::string& author = "ana") {
    return updates_.Apply({"t", id_, kind, author, text, absl::StrCat("delivery-", ++deliveries_)});
  }
  absl::StatusOr<UpdateResult> Comment(const std::string& text, const std::string& author = "ana") {
    return Apply(TicketUpdate::Kind::kComment, text, author);
  }
  absl::StatusOr<UpdateResult> Close(const std::string& text) {
    return Apply(TicketUpdate::Kind::kClosed, text);
  }

  World world_{"jira"};
  std::string id_;
  int deliveries_ = 0;
  absl::Status answer_;
  std::vector<galen::v1::SubmitFeedbackRequest> submitted_;
  InboundUpdates updates_{world_.site, world_.store->records(), world_.source, world_.clock,
                          [this](const galen::v1::SubmitFeedbackRequest& request) {
                            submitted_.push_back(request);
                            return answer_;
                          }};
};

TEST_F(InboundUpdatesTest, ACommentIsFeedbackOfItsDiagnosis) {
  EXPECT_EQ(Comment("it began after the driver update")->kind, Kind::kFeedback);
  ASSERT_EQ(submitted_.size(), 1U);
  EXPECT_EQ(submitted_[0].name(), kName);
  EXPECT_EQ(submitted_[0].text(), "ana (t): it began after the driver update");
  EXPECT_EQ(submitted_[0].confirmed_label(), "");
}

TEST_F(InboundUpdatesTest, TheSameDeliveryHasTheSameIdempotencyKey) {
  const TicketUpdate update = {"t", id_, TicketUpdate::Kind::kComment, "ana", "x", "delivery"};
  updates_.Apply(update).IgnoreError();
  updates_.Apply(update).IgnoreError();
  ASSERT_EQ(submitted_.size(), 2U);
  EXPECT_EQ(submitted_[0].request_id(), submitted_[1].request_id());
  EXPECT_LE(submitted_[0].request_id().size(), 128U);
}

TEST_F(InboundUpdatesTest, WhatWeWroteOurselvesIsNoNews) {
  EXPECT_EQ(Comment("anything", "galen-bot")->kind, Kind::kOurs);
  EXPECT_EQ(Comment(absl::StrCat("Done.\nGalen, ", MarkOf(kName)))->kind, Kind::kOurs);
  EXPECT_TRUE(submitted_.empty());
  // A comment that quotes us also has text of its own.
  EXPECT_EQ(Comment(absl::StrCat("> Galen, ", MarkOf(kName), "\nno, it was the cable"))->kind,
            Kind::kFeedback);
}

TEST_F(InboundUpdatesTest, AComentMayConfirmACause) {
  EXPECT_EQ(Comment("checked.\nGalen confirm GPU.PCIE.FELL_OFF_BUS\n")->kind, Kind::kConfirmed);
  ASSERT_EQ(submitted_.size(), 1U);
  EXPECT_EQ(submitted_[0].confirmed_label(), "GPU.PCIE.FELL_OFF_BUS");
  EXPECT_EQ(submitted_[0].confirmed_by(), "ana (t)");
}

TEST_F(InboundUpdatesTest, ClosingIsRecordedAndConfirmsWhereTheSiteSaysSo) {
  EXPECT_EQ(Close("replaced the riser")->kind, Kind::kRecorded);
  EXPECT_TRUE(submitted_.empty());
  const auto ticket = world_.ticket_store.GetTicket("t", kName).value()->value;
  EXPECT_TRUE(ticket.has_close_time());
  EXPECT_EQ(ticket.closed_by(), "ana");
  EXPECT_EQ(ticket.close_text(), "replaced the riser");
  world_.site.targets[0].close_confirms = true;
  EXPECT_EQ(Close("replaced the riser")->kind, Kind::kConfirmed);
  ASSERT_EQ(submitted_.size(), 1U);
  EXPECT_EQ(submitted_[0].confirmed_label(), "GPU.PCIE.FELL_OFF_BUS");
}

TEST_F(InboundUpdatesTest, ATicketThatIsNotOursSaysNothing) {
  EXPECT_EQ(updates_.Apply({"t", "999", TicketUpdate::Kind::kComment, "ana", "x", "1"})->kind,
            Kind::kUnknown);
  EXPECT_EQ(updates_.Apply({"other", id_, TicketUpdate::Kind::kComment, "ana", "x", "1"})->kind,
            Kind::kUnknown);
  EXPECT_TRUE(submitted_.empty());
}

TEST_F(InboundUpdatesTest, ADiagnosisThatTakesNoFeedbackSaysSoAndAMeshThatIsAwayIsTriedAgain) {
  answer_ = absl::FailedPreconditionError("is SUCCEEDED");
  const auto refused = Comment("x");
  EXPECT_EQ(refused->kind, Kind::kNotTaken);
  EXPECT_THAT(refused->detail, HasSubstr("SUCCEEDED"));
  answer_ = absl::UnavailableError("away");
  EXPECT_THAT(Comment("x").status(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("away")));
}

TEST(ConfirmedIn, TakesALabelAndNothingElse) {
  EXPECT_EQ(ConfirmedIn("galen confirm A.B_C.D1 and more"), "A.B_C.D1");
  EXPECT_EQ(ConfirmedIn("please galen confirm A.B"), "");
  EXPECT_EQ(ConfirmedIn("galen confirm ../x"), "");
  EXPECT_EQ(ConfirmedIn("> galen confirm A.B"), "");
}

}  // namespace news_test
}  // namespace galen::gateway::tickets
