// What people do with tickets comes back to the diagnosis.
#include "services/gateway/tickets/news.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/gateway/tickets/ticket_world.h"

namespace galen::gateway::tickets {
namespace news_test {

using ::galen::testing::StatusIs;
using ::testing::HasSubstr;
using Kind = NewsResult::Kind;

constexpr char kName[] = "tenants/acme/diagnoses/d1";

class NewsTest : public ::testing::Test {
 protected:
  NewsTest() {
    world_.site.targets[0].own_accounts = {"galen-bot"};
    world_.Conclude(kName);
    world_.RunUntil(world_.clock.Now() + absl::Hours(1));
    id_ = world_.book.GetTicket("t", kName).value()->value.id();
  }
  absl::StatusOr<NewsResult> Take(TicketNews::Kind kind, const std::string& text,
                                  const std::string& author = "ana") {
    return desk_.Take({"t", id_, kind, author, text, absl::StrCat("delivery-", ++deliveries_)});
  }
  absl::StatusOr<NewsResult> Comment(const std::string& text, const std::string& author = "ana") {
    return Take(TicketNews::Kind::kComment, text, author);
  }
  absl::StatusOr<NewsResult> Close(const std::string& text) {
    return Take(TicketNews::Kind::kClosed, text);
  }

  World world_{"jira"};
  std::string id_;
  int deliveries_ = 0;
  absl::Status answer_;
  std::vector<galen::v1::SubmitFeedbackRequest> submitted_;
  NewsDesk desk_{world_.site, world_.store->records(), world_.source, world_.clock,
                 [this](const galen::v1::SubmitFeedbackRequest& request) {
                   submitted_.push_back(request);
                   return answer_;
                 }};
};

TEST_F(NewsTest, ACommentIsFeedbackOfItsDiagnosis) {
  EXPECT_EQ(Comment("it began after the driver update")->kind, Kind::kFeedback);
  ASSERT_EQ(submitted_.size(), 1U);
  EXPECT_EQ(submitted_[0].name(), kName);
  EXPECT_EQ(submitted_[0].text(), "ana (t): it began after the driver update");
  EXPECT_EQ(submitted_[0].confirmed_label(), "");
}

TEST_F(NewsTest, TheSameDeliveryHasTheSameIdempotencyKey) {
  const TicketNews news = {"t", id_, TicketNews::Kind::kComment, "ana", "x", "delivery"};
  desk_.Take(news).IgnoreError();
  desk_.Take(news).IgnoreError();
  ASSERT_EQ(submitted_.size(), 2U);
  EXPECT_EQ(submitted_[0].request_id(), submitted_[1].request_id());
  EXPECT_LE(submitted_[0].request_id().size(), 128U);
}

TEST_F(NewsTest, WhatWeWroteOurselvesIsNoNews) {
  EXPECT_EQ(Comment("anything", "galen-bot")->kind, Kind::kOurs);
  EXPECT_EQ(Comment(absl::StrCat("Done.\nGalen, ", MarkOf(kName)))->kind, Kind::kOurs);
  EXPECT_TRUE(submitted_.empty());
  // Who quotes us says something of their own.
  EXPECT_EQ(Comment(absl::StrCat("> Galen, ", MarkOf(kName), "\nno, it was the cable"))->kind,
            Kind::kFeedback);
}

TEST_F(NewsTest, AComentMayConfirmACause) {
  EXPECT_EQ(Comment("checked.\nGalen confirm GPU.PCIE.FELL_OFF_BUS\n")->kind, Kind::kConfirmed);
  ASSERT_EQ(submitted_.size(), 1U);
  EXPECT_EQ(submitted_[0].confirmed_label(), "GPU.PCIE.FELL_OFF_BUS");
  EXPECT_EQ(submitted_[0].confirmed_by(), "ana (t)");
}

TEST_F(NewsTest, ClosingIsRecordedAndConfirmsWhereTheSiteSaysSo) {
  EXPECT_EQ(Close("replaced the riser")->kind, Kind::kRecorded);
  EXPECT_TRUE(submitted_.empty());
  const auto ticket = world_.book.GetTicket("t", kName).value()->value;
  EXPECT_TRUE(ticket.has_close_time());
  EXPECT_EQ(ticket.closed_by(), "ana");
  EXPECT_EQ(ticket.close_text(), "replaced the riser");
  world_.site.targets[0].close_confirms = true;
  EXPECT_EQ(Close("replaced the riser")->kind, Kind::kConfirmed);
  ASSERT_EQ(submitted_.size(), 1U);
  EXPECT_EQ(submitted_[0].confirmed_label(), "GPU.PCIE.FELL_OFF_BUS");
}

TEST_F(NewsTest, ATicketThatIsNotOursSaysNothing) {
  EXPECT_EQ(desk_.Take({"t", "999", TicketNews::Kind::kComment, "ana", "x", "1"})->kind,
            Kind::kUnknown);
  EXPECT_EQ(desk_.Take({"other", id_, TicketNews::Kind::kComment, "ana", "x", "1"})->kind,
            Kind::kUnknown);
  EXPECT_TRUE(submitted_.empty());
}

TEST_F(NewsTest, ADiagnosisThatTakesNoFeedbackSaysSoAndAMeshThatIsAwayIsTriedAgain) {
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
