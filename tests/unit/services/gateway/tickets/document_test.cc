// The content of a ticket; nothing in it is interpreted as more than text.
#include "services/gateway/tickets/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "services/gateway/tickets/exchange.h"
#include "tests/unit/services/gateway/tickets/ticket_world.h"

namespace galen::gateway::tickets {
namespace document_test {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kName[] = "tenants/acme/diagnoses/d1";

std::string TextOf(const galen::v1::Diagnosis& diagnosis, Form form,
                   Reader reader = Reader::kCustomer) {
  const Json text =
      Render(DocumentOf(diagnosis, "https://galen.example", reader).body, form, 100'000);
  return text.is_string() ? text.get<std::string>() : text.dump();
}

TEST(TicketDocument, TellsCauseEvidenceActionsAndHowEachHypothesisWasRuledOut) {
  const std::string text = TextOf(ADiagnosis(kName), Form::kPlain);
  for (const char* part :
       {"GPU 3 of n1 fell off the PCIe bus", "GPU.PCIE.FELL_OFF_BUS", "n1 gpu:3",
        "NVRM: Xid (PCI:0000:9b:00): 79", "Drain the node and reset the GPU.",
        "needs the approval of a person", "RDMA link down (NETWORK.RDMA.LINK_DOWN)",
        "All ports of n1 and n2 are up", "Drain n1", "training stalled",
        "https://galen.example/tenants/acme/diagnoses/d1"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(TicketDocument, AnEffectThatIsASymptomHasItsNameAlone) {
  galen::v1::Diagnosis diagnosis = ADiagnosis(kName);
  galen::v1::Cause& effect = *diagnosis.mutable_report()->add_secondary_effects();
  effect.set_label("Xid 45");
  effect.set_explanation("Work was cleaned up after the error.");
  EXPECT_THAT(TextOf(diagnosis, Form::kPlain),
              HasSubstr("Effect: Xid 45. Work was cleaned up after the error."));
}

TEST(TicketDocument, SerialNumbersAreForProvidersAlone) {
  EXPECT_THAT(TextOf(ADiagnosis(kName), Form::kPlain), Not(HasSubstr("SERIAL-4711")));
  EXPECT_THAT(TextOf(ADiagnosis(kName), Form::kPlain, Reader::kProvider), HasSubstr("SERIAL-4711"));
}

TEST(TicketDocument, HoldsNoSecretWhoeverWroteIt) {
  const std::string token = absl::StrCat("hf_", std::string(34, 'q'));
  galen::v1::Diagnosis diagnosis = ADiagnosis(kName);
  galen::v1::Report& report = *diagnosis.mutable_report();
  report.set_headline(absl::StrCat("export HF_TOKEN=", token));
  report.mutable_primary_cause()->set_explanation(absl::StrCat("--token ", token));
  report.mutable_evidence(0)->set_excerpt(absl::StrCat("curl https://u:", token, "@host/"));
  report.mutable_evidence(0)->set_text(absl::StrCat(std::string(480, 'x'), " ", token));  // cut
  report.add_next_steps(absl::StrCat("login with password=", token));
  diagnosis.mutable_incident()->set_description(token);
  const TicketDocument document = DocumentOf(diagnosis, "", Reader::kProvider);
  std::string all = TextOf(diagnosis, Form::kPlain, Reader::kProvider);
  for (const auto& [name, value] : document.values) absl::StrAppend(&all, "\n", value);
  for (const Block& block : document.comment) absl::StrAppend(&all, "\n", block.text);
  EXPECT_THAT(all, Not(HasSubstr("qqqqqqqq")));
  EXPECT_THAT(all, HasSubstr("HF_TOKEN=[redacted]"));
}

TEST(TicketDocument, NamesADiagnosisTheSameWayEverywhereAndNoOtherSo) {
  const auto mark = [](const std::string& name) {
    return DocumentOf(ADiagnosis(name), "", Reader::kCustomer).values.at("mark");
  };
  EXPECT_EQ(mark(kName), MarkOf(kName));
  EXPECT_EQ(mark(kName).size(), 30U);
  EXPECT_NE(mark(kName), mark("tenants/acme/diagnoses/d2"));
  EXPECT_NE(mark(kName), mark("tenants/other/diagnoses/d1"));
}

TEST(TicketDocument, ALargeReportStaysWithinTheLimit) {
  galen::v1::Diagnosis diagnosis = ADiagnosis(kName);
  for (int i = 0; i < 2000; ++i) {
    *diagnosis.mutable_report()->add_ruled_out() = diagnosis.report().primary_cause();
    galen::v1::Evidence& evidence = *diagnosis.mutable_report()->add_evidence();
    evidence.set_id(absl::StrCat("e", i));
    evidence.set_excerpt(std::string(100'000, '<'));
  }
  const TicketDocument document = DocumentOf(diagnosis, "", Reader::kCustomer);
  for (const Form form : {Form::kPlain, Form::kMarkdown, Form::kSlack, Form::kHtml, Form::kAdf}) {
    const Json text = Render(document.body, form, 3000);
    const std::string written = text.is_string() ? text.get<std::string>() : text.dump();
    EXPECT_LE(written.size(), 3000U);
    EXPECT_THAT(written, HasSubstr("this ticket takes no more text"));
  }
}

TEST(TicketDocument, ForeignTextIsNoMarkupNoMentionAndNoMarkerOfOurs) {
  galen::v1::Diagnosis diagnosis = ADiagnosis(kName);
  const std::string marker = absl::StrCat("<!-- ", MarkOf(kName), " -->");
  diagnosis.mutable_report()->set_headline(
      absl::StrCat("@channel <!channel> [x](http://evil) ", marker, " <script> [/code] **b**"));
  diagnosis.mutable_report()->mutable_evidence(0)->set_excerpt("```\n@all <img src=x>\n```");
  EXPECT_THAT(TextOf(diagnosis, Form::kMarkdown), Not(HasSubstr(marker)));
  EXPECT_THAT(TextOf(diagnosis, Form::kMarkdown), Not(HasSubstr("@channel")));
  EXPECT_THAT(TextOf(diagnosis, Form::kMarkdown), HasSubstr("````\n```"));
  EXPECT_THAT(TextOf(diagnosis, Form::kSlack), Not(HasSubstr("<!channel>")));
  EXPECT_THAT(TextOf(diagnosis, Form::kHtml), Not(HasSubstr("<script>")));
  EXPECT_THAT(TextOf(diagnosis, Form::kHtml), Not(HasSubstr("[/code]")));
}

TEST(TicketDocument, AtlassiansFormHasNoEmptyTexts) {
  galen::v1::Diagnosis diagnosis = ADiagnosis(kName);
  diagnosis.mutable_incident()->clear_description();
  diagnosis.mutable_report()->clear_headline();
  const std::string text = TextOf(diagnosis, Form::kAdf);
  EXPECT_THAT(text, Not(HasSubstr("\"text\":\"\"")));
  EXPECT_THAT(text, HasSubstr("\"type\":\"bulletList\""));
}

TEST(TicketDocument, AnEscalationWithoutAReportTellsTheVerdicts) {
  galen::v1::Diagnosis diagnosis = ADiagnosis(kName);
  diagnosis.set_state(galen::v1::Diagnosis::ESCALATED);
  diagnosis.clear_report();
  galen::v1::Hypothesis& hypothesis = *diagnosis.add_hypotheses();
  hypothesis.set_label("SYSTEM.DISK.FULL");
  hypothesis.mutable_verdict()->set_outcome(galen::v1::Verdict::REJECTED);
  hypothesis.mutable_verdict()->add_reasons()->set_text("12% of /scratch is used");
  const std::string text = TextOf(diagnosis, Form::kPlain);
  EXPECT_THAT(text, HasSubstr("handed to a person"));
  EXPECT_THAT(text, HasSubstr("SYSTEM.DISK.FULL REJECTED: 12% of /scratch is used"));
}

TEST(TicketTemplate, FillsTextsAndTreesAndLeavesOutWhatIsEmpty) {
  const Values values = {
      {"a", "x y/z"}, {"long", "abcdefghij"}, {"none", ""}, {"tree", Json({{"k", 1}})}};
  EXPECT_EQ(FillText("1${a}2", values, Escaping::kNone), "1x y/z2");
  EXPECT_EQ(FillText("/p/${a}", values, Escaping::kUrl), "/p/x%20y%2Fz");
  EXPECT_EQ(FillText("${long|limit:6}", values, Escaping::kNone), "abc...");
  const Json tree = Json::parse(
      R"({"a": "${a}", "b": "${none}", "c": ["${none}", 1], "d": "${tree}",
          "e": {"$if": "none", "x": 1}, "f": {"$if": "a", "x": 2}})");
  EXPECT_EQ(FillJson(tree, values).dump(), R"({"a":"x y/z","c":[1],"d":{"k":1},"f":{"x":2}})");
}

TEST(TicketTemplate, AValueIsNotReadAsATemplateAgain) {
  const Values values = {{"a", "${secret}"}, {"secret", "s"}};
  EXPECT_EQ(FillText("${a}", values, Escaping::kNone), "${secret}");
}

}  // namespace document_test
}  // namespace galen::gateway::tickets
