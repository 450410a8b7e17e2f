#include "common/curation/confirmed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
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
  EXPECT_EQ(proposal->id, "diagnosis-d-17");
  EXPECT_EQ(proposal->kind, "incident");
  EXPECT_EQ(proposal->made, "2025-03-15");
  EXPECT_EQ(proposal->origin, "tenants/default/diagnoses/d-17");
  EXPECT_THAT(proposal->reason, HasSubstr("ada confirmed the cause; the diagnosis had named it"));
  const auto base = ParsedText(proposal->knowledge);
  ASSERT_EQ(base.incidents_size(), 1);
  const auto& incident = base.incidents(0);
  EXPECT_EQ(incident.date(), "2025-03-14");
  EXPECT_EQ(incident.title(), "Training stops at night");
  EXPECT_EQ(incident.label(), "GPU.MEMORY.ECC");
  EXPECT_THAT(incident.logs(), ElementsAre("uncorrectable ECC error encountered"));
  EXPECT_THAT(incident.verification(), ElementsAre("gpu.memory: 3 errors on GPU 2"));
  EXPECT_EQ(incident.environment().at("gpu"), "H100");
  EXPECT_EQ(incident.resolution(), "Card replaced.");
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
  EXPECT_EQ(again->id, "diagnosis-d-17");
  EXPECT_EQ(ParsedText(again->knowledge).incidents_size(), 1);
}

}  // namespace
}  // namespace galen::curation
