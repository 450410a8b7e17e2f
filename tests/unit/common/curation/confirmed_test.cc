#include "common/curation/confirmed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/curation/proposal_store.h"
#include "site_files.h"
#include "tests/testing/status_matchers.h"

namespace galen::curation {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

galen::v1::Diagnosis Diagnosed() {
  galen::v1::Diagnosis diagnosis;
  diagnosis.set_name("tenants/default/diagnoses/d-17");
  diagnosis.mutable_create_time()->set_seconds(1741942800);  // 2025-03-14
  diagnosis.mutable_incident()->set_description("Training stops at night. Since the update.");
  diagnosis.mutable_incident()->mutable_environment()->set_gpu("H100");
  auto& signal = *diagnosis.mutable_summary()->add_signals();
  signal.set_excerpt("uncorrectable ECC error encountered");
  signal.set_where(galen::v1::JOB_LOG);
  auto& hypothesis = *diagnosis.add_hypotheses();
  hypothesis.set_label("GPU.MEMORY.ECC");
  auto& reason = *hypothesis.mutable_verdict()->add_reasons();
  reason.set_direction(galen::v1::Reason::SUPPORTS);
  reason.set_text("gpu.memory: 3 errors on GPU 2");
  diagnosis.mutable_report()->mutable_primary_cause()->set_label("GPU.MEMORY.ECC");
  auto& confirmation = *diagnosis.mutable_confirmation();
  confirmation.set_label("GPU.MEMORY.ECC");
  confirmation.set_by("ada");
  confirmation.set_note("Card replaced.");
  confirmation.mutable_time()->set_seconds(1742029200);  // a day later
  return diagnosis;
}

TEST(Confirmed, ADiagnosisThatAPersonConfirmedIsAPastIncident) {
  const auto proposal = ProposalOf(Diagnosed());
  ASSERT_THAT(proposal, IsOk());
  // With the first eight of `echo -n GPU.MEMORY.ECC | sha256sum`.
  EXPECT_EQ(proposal->id, "diagnosis-d-17-27d0258d");
  EXPECT_EQ(proposal->subject, "diagnosis-d-17");
  EXPECT_EQ(proposal->kind, "incident");
  EXPECT_EQ(proposal->made, "2025-03-15");
  EXPECT_EQ(proposal->origin, "tenants/default/diagnoses/d-17");
  EXPECT_THAT(proposal->reason, HasSubstr("ada confirmed the cause; the diagnosis had named it"));
  const auto base = ParsedText(proposal->knowledge);
  ASSERT_EQ(base.incidents_size(), 1);
  const auto& incident = base.incidents(0);
  EXPECT_EQ(incident.date(), "2025-03-14");
  EXPECT_EQ(incident.label(), "GPU.MEMORY.ECC");
  const auto& own = incident.tenant_texts();
  EXPECT_EQ(own.tenant(), "default");
  EXPECT_EQ(own.title(), "Training stops at night");
  EXPECT_THAT(own.logs(), ElementsAre("uncorrectable ECC error encountered"));
  EXPECT_THAT(own.verification(), ElementsAre("gpu.memory: 3 errors on GPU 2"));
  EXPECT_EQ(own.environment().at("gpu"), "H100");
  EXPECT_EQ(own.resolution(), "Card replaced.");
  EXPECT_EQ(own.reference(), "tenants/default/diagnoses/d-17");
}

galen::v1::Diagnosis ConfirmedInWords() {
  galen::v1::Diagnosis diagnosis = Diagnosed();
  diagnosis.mutable_incident()->add_nodes("trn-a17");
  diagnosis.mutable_report()->clear_primary_cause();
  diagnosis.mutable_report()->add_suspects()->set_label("GPU.MEMORY.ECC");
  galen::v1::ModelVerdict& refused = *diagnosis.mutable_report()->add_model_verdicts();
  refused.set_outcome(galen::v1::ModelVerdict::CONFIRMED);
  refused.set_objection("it cites nothing");
  refused.set_text("Another thing.");
  galen::v1::ModelVerdict& stated = *diagnosis.mutable_report()->add_model_verdicts();
  stated.set_outcome(galen::v1::ModelVerdict::CONFIRMED);
  stated.set_model("fake-1");
  stated.set_text("The retimer of trn-a17 loses its firmware. It happens after a cold start.");
  galen::v1::Citation& citation = *stated.add_citations();
  citation.set_artefact("dmesg of trn-a17");
  citation.set_line(7);
  citation.set_quote("retimer: no firmware");
  diagnosis.mutable_confirmation()->set_label("IN_WORDS");
  return diagnosis;
}

// A cause that the taxonomy does not have becomes a label that a person completes.
TEST(Confirmed, ACauseInWordsIsProposedAsALabel) {
  const auto proposal = ProposalOf(ConfirmedInWords());
  ASSERT_THAT(proposal, IsOk());
  EXPECT_EQ(proposal->kind, "label");
  EXPECT_EQ(proposal->subject, "diagnosis-d-17");
  EXPECT_TRUE(IsProposalId(proposal->id)) << proposal->id;
  EXPECT_THAT(proposal->reason, HasSubstr("ada confirmed a cause that the taxonomy does not have"));
  EXPECT_THAT(proposal->reason, HasSubstr("fake-1"));
  EXPECT_THAT(proposal->verification, ElementsAre("dmesg of trn-a17 line 7: retimer: no firmware"));
  EXPECT_THAT(proposal->knowledge, HasSubstr("# confirm: what a check must find"));
  const auto base = ParsedText(proposal->knowledge);
  ASSERT_EQ(base.labels_size(), 1);
  EXPECT_EQ(base.labels(0).label(), "GPU.MEMORY.RETIMER_MACHINE_LOSES_FIRMWARE");
  // All tenants see it: no name of a machine.
  EXPECT_EQ(base.labels(0).title(), "The retimer of a machine loses its firmware");
  ASSERT_EQ(base.incidents_size(), 1);
  EXPECT_EQ(base.incidents(0).label(), base.labels(0).label());
  EXPECT_EQ(base.incidents(0).tenant_texts().resolution(), "Card replaced.");
}

TEST(Confirmed, WordsThatTheReportDoesNotHaveAreRefused) {
  galen::v1::Diagnosis diagnosis = ConfirmedInWords();
  diagnosis.mutable_report()->mutable_model_verdicts()->RemoveLast();
  EXPECT_THAT(ProposalOf(diagnosis), StatusIs(absl::StatusCode::kFailedPrecondition,
                                              HasSubstr("states no cause in words")));
}

// Every text that a tenant can put into a diagnosis, each with a word of its own.
galen::v1::Diagnosis FullOfWords(std::vector<std::string>& words) {
  const auto word = [&words] {
    words.push_back(absl::StrCat("NIGHTHAWK", words.size(), "SECRETPROJECT"));
    return words.back();
  };
  galen::v1::Diagnosis diagnosis = Diagnosed();
  diagnosis.set_name(absl::StrCat("tenants/acme/diagnoses/", word()));
  galen::v1::Incident& incident = *diagnosis.mutable_incident();
  incident.set_description(absl::StrCat(word(), ". ", word()));
  incident.mutable_environment()->set_gpu(word());
  incident.mutable_environment()->set_os(word());
  (*incident.mutable_environment()->mutable_attributes())[word()] = word();
  incident.mutable_workload()->set_framework(word());
  galen::v1::Signal& signal = *diagnosis.mutable_summary()->mutable_signals(0);
  signal.set_excerpt(word());
  signal.set_source(word());
  signal.set_node(word());
  signal.set_meaning("a memory error");
  diagnosis.mutable_hypotheses(0)->mutable_verdict()->mutable_reasons(0)->set_text(word());
  galen::v1::CheckResult& result = *diagnosis.add_check_results();
  result.set_check("gpu.ecc");
  result.set_node(word());
  result.set_message(word());
  result.set_excerpt(word());
  galen::v1::Finding& counted = *result.add_findings();
  counted.set_name("dram_uncorrectable");
  counted.set_int_value(3);
  counted.set_abnormal(true);
  galen::v1::Finding& told = *result.add_findings();
  told.set_name("board");
  told.set_text_value(word());
  told.set_abnormal(true);
  told.mutable_subject()->set_device(word());
  diagnosis.mutable_confirmation()->set_by(word());
  diagnosis.mutable_confirmation()->set_note(word());
  return diagnosis;
}

TEST(Confirmed, WhatAllTenantsSeeHoldsNoWordOfTheOneThatSentIt) {
  std::vector<std::string> words;
  const auto proposal = ProposalOf(FullOfWords(words));
  ASSERT_THAT(proposal, IsOk());
  auto shared = ParsedText(proposal->knowledge).incidents(0);
  EXPECT_THAT(shared.tenant_texts().description(), HasSubstr(words[1]));
  shared.clear_tenant_texts();
  const std::string seen = absl::StrCat(shared.DebugString(), shared.id());
  for (const std::string& word : words) {
    for (std::size_t i = 0; i + 12 <= word.size(); ++i) {
      EXPECT_FALSE(absl::StrContains(absl::AsciiStrToUpper(seen), word.substr(i, 12))) << seen;
    }
  }
  EXPECT_THAT(shared.title(), HasSubstr("gpu.ecc: dram_uncorrectable"));
  EXPECT_THAT(shared.description(), HasSubstr("a memory error"));
  EXPECT_THAT(shared.verification(),
              ElementsAre("gpu.ecc: board is abnormal", "gpu.ecc: dram_uncorrectable is 3"));
}

TEST(Confirmed, SecretsDoNotReachTheReviewer) {
  auto diagnosis = Diagnosed();
  const std::string token = absl::StrCat("hf_", std::string(34, 'q'));
  diagnosis.mutable_incident()->set_description(absl::StrCat("export HF_TOKEN=", token, " fails"));
  diagnosis.mutable_summary()->mutable_signals(0)->set_excerpt(
      absl::StrCat("Authorization: Bearer ", token));
  (*diagnosis.mutable_incident()->mutable_environment()->mutable_attributes())["WANDB_API_KEY"] =
      "0123456789abcdef0123456789abcdef01234567";
  const auto proposal = ProposalOf(diagnosis);
  ASSERT_THAT(proposal, IsOk());
  EXPECT_FALSE(absl::StrContains(proposal->knowledge, token)) << proposal->knowledge;
  EXPECT_FALSE(absl::StrContains(proposal->knowledge, "0123456789abcdef")) << proposal->knowledge;
}

TEST(Confirmed, TheCauseIsThePersonsWhateverTheDiagnosisHadNamed) {
  auto diagnosis = Diagnosed();
  diagnosis.mutable_confirmation()->set_label("NET.LINK.DOWN");
  const auto proposal = ProposalOf(diagnosis);
  ASSERT_THAT(proposal, IsOk());
  EXPECT_EQ(ParsedText(proposal->knowledge).incidents(0).label(), "NET.LINK.DOWN");
  EXPECT_THAT(proposal->reason, HasSubstr("the diagnosis had named GPU.MEMORY.ECC"));
}

TEST(Confirmed, WithoutAPersonsWordThereIsNoProposal) {
  auto diagnosis = Diagnosed();
  diagnosis.clear_confirmation();
  EXPECT_THAT(ProposalOf(diagnosis), StatusIs(absl::StatusCode::kFailedPrecondition, _));
}

// Several decisions of people on one diagnosis, one after another, in a site's store.
class ConfirmedAgain : public ::testing::Test {
 protected:
  ConfirmedAgain() { shipped_.Write("book.yaml", kBook); }

  static Proposal Says(const std::string& label) {
    auto diagnosis = Diagnosed();
    diagnosis.mutable_confirmation()->set_label(label);
    const auto proposal = ProposalOf(diagnosis);
    EXPECT_THAT(proposal, IsOk());
    return proposal.ok() ? *proposal : Proposal{};
  }
  bool Proposed(const Proposal& proposal) {
    const auto proposed = store_.Propose(proposal);
    EXPECT_THAT(proposed, IsOk());
    return proposed.ok() && *proposed;
  }
  std::vector<std::string> Causes() const {
    std::vector<std::string> causes;
    const auto base = Parsed({shipped_.path(), site_.path()});
    for (const auto& incident : base.incidents()) {
      if (incident.tenant_texts().reference() == Diagnosed().name())
        causes.push_back(incident.label());
    }
    return causes;
  }

  Folder shipped_;
  Folder site_;
  const ProposalStore store_{{shipped_.path(), site_.path()}};
  const absl::Time now_ = absl::FromUnixSeconds(1742029200);
};

TEST_F(ConfirmedAgain, AnotherCauseIsProposedAfterTheFirstWasUndone) {
  const Proposal wrong = Says("GPU.MEMORY.ECC");
  ASSERT_TRUE(Proposed(wrong));
  ASSERT_THAT(store_.Accept(wrong.id, "ada", now_), IsOk());
  ASSERT_THAT(store_.Undo(wrong.id, "bob", "it was the cable", now_), IsOk());
  EXPECT_FALSE(Proposed(wrong));
  const Proposal right = Says("NET.LINK.DOWN");
  ASSERT_TRUE(Proposed(right));
  ASSERT_THAT(store_.Accept(right.id, "bob", now_), IsOk());
  EXPECT_THAT(Causes(), ElementsAre("NET.LINK.DOWN"));
}

TEST_F(ConfirmedAgain, TheLatestWordWaitsAlone) {
  ASSERT_TRUE(Proposed(Says("GPU.MEMORY.ECC")));
  ASSERT_TRUE(Proposed(Says("NET.LINK.DOWN")));
  const auto pending = store_.Pending();
  ASSERT_THAT(pending, IsOk());
  ASSERT_EQ(pending->size(), 1U);
  EXPECT_EQ(pending->front().id, Says("NET.LINK.DOWN").id);
}

TEST_F(ConfirmedAgain, TwoCausesOfOneDiagnosisAreNeverKnowledgeTogether) {
  ASSERT_TRUE(Proposed(Says("GPU.MEMORY.ECC")));
  ASSERT_THAT(store_.Accept(Says("GPU.MEMORY.ECC").id, "ada", now_), IsOk());
  ASSERT_TRUE(Proposed(Says("NET.LINK.DOWN")));
  EXPECT_THAT(store_.Accept(Says("NET.LINK.DOWN").id, "bob", now_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("learned-")));
  EXPECT_THAT(Causes(), ElementsAre("GPU.MEMORY.ECC"));
}

// Earlier releases wrote diagnosis-ID.yaml for any cause.
TEST_F(ConfirmedAgain, WhatEarlierReleasesDecidedStandsForItsCause) {
  Proposal old = Says("GPU.MEMORY.ECC");
  old.id = old.subject;
  ASSERT_TRUE(Proposed(old));
  ASSERT_THAT(store_.Reject(old.id, "ada", "no", now_), IsOk());
  EXPECT_FALSE(Proposed(Says("GPU.MEMORY.ECC")));
  EXPECT_TRUE(Proposed(Says("NET.LINK.DOWN")));
}

TEST_F(ConfirmedAgain, WhatEarlierReleasesLetWaitIsReplaced) {
  Proposal old = Says("GPU.MEMORY.ECC");
  old.id = old.subject;
  ASSERT_TRUE(Proposed(old));
  Proposal other = old;
  other.id = "diagnosis-d-17-b";  // of the diagnosis d-17-b
  other.subject = other.id;
  other.origin = "tenants/default/diagnoses/d-17-b";
  ASSERT_TRUE(Proposed(other));
  ASSERT_TRUE(Proposed(Says("GPU.MEMORY.ECC")));
  const auto pending = store_.Pending();
  ASSERT_THAT(pending, IsOk());
  std::vector<std::string> ids;
  for (const Proposal& one : *pending) ids.push_back(one.id);
  EXPECT_THAT(ids, ElementsAre(Says("GPU.MEMORY.ECC").id, other.id));
}

TEST(Confirmed, HostileTextsAreCutAndStayTexts) {
  auto diagnosis = Diagnosed();
  diagnosis.mutable_incident()->set_description(
      absl::StrCat("proposal:\n  id: x\n\x1b[2J", std::string(1 << 20, 'a')));
  diagnosis.mutable_confirmation()->set_by("eve\nlabels: []");
  for (int i = 0; i < 1000; ++i) {
    *diagnosis.mutable_summary()->add_signals() = diagnosis.summary().signals(0);
  }
  const auto proposal = ProposalOf(diagnosis);
  ASSERT_THAT(proposal, IsOk());
  EXPECT_LT(proposal->knowledge.size(), 40'000u);
  const auto again = ProposalFromText("p.yaml", ToText(*proposal));
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->id, proposal->id);
  EXPECT_EQ(ParsedText(again->knowledge).incidents_size(), 1);
}

}  // namespace
}  // namespace galen::curation
