#include "bench/eval/runner/describe.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::eval {
namespace {

using galen::v1::Diagnosis;
using galen::v1::DiagnosisEvent;
using galen::v1::Hypothesis;
using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

TEST(CountReasonerUse, AVerdictIsAQuestionAndListingEveryCauseIsNone) {
  v1::ReasonerUse use;
  DiagnosisEvent event;
  event.mutable_summarized();
  CountReasonerUse(event, use);
  for (const auto origin : {Hypothesis::ORIGIN_UNSPECIFIED, Hypothesis::HISTORY, Hypothesis::DIRECT,
                            Hypothesis::TAXONOMY}) {
    event.mutable_hypotheses_proposed()->set_origin(origin);
    CountReasonerUse(event, use);
  }
  for (int i = 0; i < 3; ++i) event.mutable_verdicts_given()->add_verdicts();
  CountReasonerUse(event, use);
  event.mutable_check_completed();
  CountReasonerUse(event, use);
  EXPECT_THAT(use.calls(), UnorderedElementsAre(Pair("Summarize", 1), Pair("ProposeFromHistory", 2),
                                                Pair("ProposeAtOnce", 1), Pair("Judge", 3)));
}

class DescribeTest : public testing::Test {
 protected:
  static knowledge::v1::KnowledgeBase Base() {
    knowledge::v1::KnowledgeBase base;
    knowledge::v1::Check& check = *base.add_checks();
    check.set_name("gpu.ecc");
    check.mutable_cost()->set_seconds(1);
    check.mutable_cost()->set_nanos(500'000'000);
    return base;
  }
  v1::CaseResult Kept() const { return Describe(diagnosis_, knowledge_); }

  const knowledge::Knowledge knowledge_{Base()};
  Diagnosis diagnosis_;
};

TEST_F(DescribeTest, ACauseIsKeptWithItsPipelineAndTheAddressesOfItsDevices) {
  galen::v1::Cause& cause = *diagnosis_.mutable_report()->mutable_primary_cause();
  cause.set_label("GPU.A");
  cause.set_probability(0.9);
  galen::v1::Device& device = *cause.add_devices();
  device.set_node("n1");
  device.set_device("gpu:1");
  cause.add_devices()->set_node("n2");
  Hypothesis& hypothesis = *diagnosis_.add_hypotheses();
  hypothesis.set_label("GPU.A");
  hypothesis.set_origin(Hypothesis::HISTORY);
  // Another finding identifies the card.
  galen::v1::Device& known = *diagnosis_.add_check_results()->add_findings()->mutable_subject();
  known.set_node("n1");
  known.set_device("gpu:1");
  known.set_pci_address("0000:41:00.0");

  const v1::NamedCause primary = Kept().primary();

  EXPECT_EQ(primary.label(), "GPU.A");
  EXPECT_EQ(primary.origin(), "HISTORY");
  EXPECT_EQ(primary.probability(), 0.9);
  EXPECT_FALSE(primary.presumed());
  EXPECT_THAT(primary.places(), ElementsAre("n1/0000:41:00.0", "n1/gpu:1", "n2"));
}

TEST_F(DescribeTest, APresumedCauseIsNamedAndMarked) {
  diagnosis_.mutable_report()->mutable_presumed_cause()->set_label("GPU.A");
  EXPECT_EQ(Kept().primary().label(), "GPU.A");
  EXPECT_TRUE(Kept().primary().presumed());
}

TEST_F(DescribeTest, AReportWithoutACauseNamesNone) { EXPECT_FALSE(Kept().has_primary()); }

TEST_F(DescribeTest, AFailedDiagnosisSaysWhy) {
  diagnosis_.set_state(Diagnosis::FAILED);
  EXPECT_EQ(Kept().error(), "the diagnosis failed");
  diagnosis_.mutable_error()->set_message("no node answers");
  EXPECT_EQ(Kept().error(), "no node answers");
}

TEST_F(DescribeTest, ChecksAreKeptWithWhatTheCatalogueChargesForThem) {
  galen::v1::CheckResult& result = *diagnosis_.add_check_results();
  result.set_check("gpu.ecc");
  result.set_node("n1");
  result.set_status(galen::v1::CheckResult::SKIPPED);
  const v1::CaseResult kept = Kept();
  ASSERT_EQ(kept.checks_size(), 1);
  EXPECT_EQ(kept.checks(0).status(), "SKIPPED");
  EXPECT_DOUBLE_EQ(kept.checks(0).cost_seconds(), 1.5);
}

TEST_F(DescribeTest, OnlyJudgedHypothesesAreKept) {
  diagnosis_.add_hypotheses()->set_label("GPU.PRUNED");
  Hypothesis& judged = *diagnosis_.add_hypotheses();
  judged.set_label("GPU.A");
  judged.set_status(Hypothesis::INCONCLUSIVE);
  galen::v1::Reason& reason = *judged.mutable_verdict()->add_reasons();
  reason.set_direction(galen::v1::Reason::OPPOSES);
  reason.set_text("no errors");
  const v1::CaseResult kept = Kept();
  ASSERT_EQ(kept.judged_size(), 1);
  EXPECT_EQ(kept.judged(0).status(), "INCONCLUSIVE");
  EXPECT_THAT(kept.judged(0).opposes(), ElementsAre("no errors"));
}

}  // namespace
}  // namespace galen::eval
