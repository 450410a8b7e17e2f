#include "services/conclusion/ticket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "services/conclusion/attachment.h"

namespace galen::conclusion {
namespace ticket_test {

using galen::v1::Report;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;

// An unresolved diagnosis of many nodes, with a long dialogue and long texts everywhere.
class TicketTest : public ::testing::Test {
 protected:
  TicketTest() {
    request_.set_diagnosis("tenants/t/diagnoses/d");
    request_.set_escalation("no cause confirmed in 5 rounds");
    request_.mutable_incident()->set_description(std::string(50'000, 'x'));
    request_.mutable_incident()->mutable_start_time()->set_seconds(1'773'217'800);
    request_.mutable_incident()->mutable_environment()->set_gpu("H100");
    for (int i = 0; i < 200; ++i) {
      auto& result = *request_.mutable_evidence()->add_results();
      result.set_node(absl::StrCat("node-", 1000 + i));
      auto& cause = *report_.add_ruled_out();
      cause.set_label(absl::StrCat("OUT.OF.", i));
      cause.set_explanation(std::string(400, 'r'));
      *report_.add_undecided() = cause;
      report_.add_notes(std::string(300, 'n'));
    }
    for (int i = 0; i < 3; ++i) {
      auto& suspect = *report_.add_suspects();
      suspect.set_label(absl::StrCat("GPU.SUSPECT.S", i));
      suspect.set_title(absl::StrCat("suspect ", i));
      suspect.set_owner(i == 0 ? "provider" : "customer");
      suspect.set_explanation(std::string(900, 'e'));
      suspect.add_evidence_ids(absl::StrCat("c@n", i));
      auto& device = *suspect.add_devices();
      device.set_node("node-1000");
      device.set_serial("SN-77");
      auto& evidence = *report_.add_evidence();
      evidence.set_id(absl::StrCat("c@n", i));
      evidence.set_text(absl::StrCat("what was seen ", i));
      evidence.set_excerpt(std::string(2'000, 'q'));
      auto& question = *request_.add_questions();
      question.set_text(absl::StrCat("Please look ", i));
      question.add_commands(absl::StrCat("show --number ", i));
      question.set_check("a.check");
      question.set_node("node-1000");
      auto& effect = *question.add_answers()->add_effects();
      effect.set_label(suspect.label());
      effect.set_title(suspect.title());
      effect.set_before(0.2);
      effect.set_after(0.9);
    }
    for (int i = 0; i < 5; ++i) {
      auto& exchange = *request_.add_dialogue();
      exchange.set_text(absl::StrCat("answer ", i, " ", std::string(5'000, 'a')));
      exchange.add_questions()->set_text(absl::StrCat("question ", i));
    }
    request_.mutable_dialogue(4)->set_text("12 links are inactive");
    request_.mutable_dialogue(4)->set_by("ada");
    auto& change = *request_.add_changes();
    change.set_kind(galen::v1::Change::CONTRADICTION);
    change.set_text("the machine says otherwise");
    report_.set_headline("No cause is proven");
  }

  v1::ConcludeRequest request_;
  Report report_;
};

TEST_F(TicketTest, IsOnePageWhateverTheDiagnosisHolds) {
  for (const Reader reader : {Reader::kCustomer, Reader::kProvider}) {
    EXPECT_THAT(WriteTicket(request_, report_, reader), SizeIs(Le(kMostOfTicket)));
  }
  EXPECT_THAT(WriteTicket({}, Report(), Reader::kCustomer), SizeIs(Le(kMostOfTicket)));
}

TEST_F(TicketTest, HoldsTheDialogueTheLeadingCausesAndWhatDecidesThem) {
  const std::string ticket = WriteTicket(request_, report_, Reader::kCustomer);
  for (const char* text :
       {"tenants/t/diagnoses/d", "no cause confirmed in 5 rounds", "node-1000", "192 more",
        "2026-03-11", "H100", "12 links are inactive", "ada", "question 4",
        "Contradiction: the machine says otherwise", "suspect 0", "suspect 2",
        "Decided by: show --number 0", "what was seen 0", "OUT.OF.0", "provider"}) {
    EXPECT_THAT(ticket, HasSubstr(text));
  }
}

TEST_F(TicketTest, ACustomerIsAskedInWordsAndAProviderGetsCommandsAndSerialNumbers) {
  auto& cause = *report_.mutable_primary_cause();
  cause = report_.suspects(0);
  request_.mutable_incident()->set_description("slow");
  const std::string customer = WriteTicket(request_, report_, Reader::kCustomer);
  const std::string provider = WriteTicket(request_, report_, Reader::kProvider);
  EXPECT_THAT(customer, HasSubstr("Please look 0"));
  EXPECT_THAT(customer, Not(HasSubstr("SN-77")));
  EXPECT_THAT(provider, HasSubstr("check a.check on node-1000: show --number 0"));
  EXPECT_THAT(provider, HasSubstr("SN-77"));
}

TEST_F(TicketTest, WhatPeopleSaidOpensNoHeading) {
  request_.mutable_incident()->set_description("# fake\n## Cause: <b>");
  request_.mutable_dialogue(4)->set_text("\n# fake too\n");
  const std::string ticket = WriteTicket(request_, report_, Reader::kCustomer);
  EXPECT_THAT(ticket, Not(HasSubstr("\n# fake")));
  EXPECT_THAT(ticket, Not(HasSubstr("\n## Cause")));
}

TEST_F(TicketTest, WhatHasNoRoomIsAttached) {
  const std::string attachment = WriteAttachment(report_);
  EXPECT_THAT(attachment, HasSubstr("OUT.OF.199"));
  EXPECT_THAT(attachment, HasSubstr(std::string(300, 'n')));
}

}  // namespace ticket_test
}  // namespace galen::conclusion
