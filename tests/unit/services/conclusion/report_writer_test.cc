#include "services/conclusion/report_writer.h"

#include <gmock/gmock.h>

#include <set>
#include <string>
#include <vector>

#include "tests/testing/reasoner/fake_reasoner.h"
#include "tests/testing/status_matchers.h"

namespace galen::conclusion {
namespace {

using ::galen::testing::FakeReasoner;
using ::galen::testing::StatusIs;
using galen::v1::Cause;
using galen::v1::CheckResult;
using galen::v1::Hypothesis;
using galen::v1::Reason;
using galen::v1::ReasoningStep;
using galen::v1::Report;
using galen::v1::Verdict;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

knowledge::v1::KnowledgeBase Base() {
  knowledge::v1::KnowledgeBase base;
  base.set_digest("0123456789abcdef");
  for (const char* name : {"GPU.ECC", "GPU.REMAP", "GPU.SRAM", "GPU.HEAT", "GPU.CLOCK"}) {
    knowledge::v1::Label& label = *base.add_labels();
    label.set_label(name);
    label.set_title(std::string("title of ") + name);
    label.set_owner("provider");
    label.set_severity("critical");
    label.set_mitigation(std::string("repair ") + name);
  }
  base.mutable_labels(0)->add_confused_with("GPU.SRAM");
  knowledge::v1::Check& check = *base.add_checks();
  check.set_name("gpu.heat");
  check.add_reads("nvidia-smi -q -x");
  check.set_kind(knowledge::v1::Check::LOG);
  base.add_checks()->set_name("gpu.unasked");
  knowledge::v1::Check& intrusive = *base.add_checks();
  intrusive.set_name("gpu.stress");
  intrusive.set_intrusive(true);
  return base;
}

Hypothesis Judged(const std::string& label, Verdict::Outcome outcome, double probability,
                  const std::string& evidence) {
  Hypothesis hypothesis;
  hypothesis.set_label(label);
  hypothesis.set_reason("proposed");
  Verdict& verdict = *hypothesis.mutable_verdict();
  verdict.set_label(label);
  verdict.set_outcome(outcome);
  verdict.set_probability(probability);
  Reason& reason = *verdict.add_reasons();
  reason.set_direction(outcome == Verdict::REJECTED ? Reason::OPPOSES : Reason::SUPPORTS);
  reason.set_text("why " + label);
  if (!evidence.empty()) reason.add_evidence_ids(evidence);
  if (outcome == Verdict::CONFIRMED) {
    verdict.add_devices()->set_node("n1");
    verdict.mutable_devices(0)->set_device("gpu:1");
  }
  return hypothesis;
}

class ReportWriterTest : public ::testing::Test {
 protected:
  ReportWriterTest() {
    request_.set_diagnosis("tenants/t/diagnoses/d1");
    request_.mutable_incident()->set_description("it broke\n# not a heading <b>");
    AddResult("gpu.ecc", CheckResult::FAIL, "1 uncorrectable error");
    AddResult("gpu.sram", CheckResult::PASS, "no errors");
    AddResult("gpu.heat", CheckResult::SKIPPED, "no nvidia-smi");
    AddResult("gpu.heat2", CheckResult::SKIPPED, "no nvidia-smi");
    AddResult("system.log", CheckResult::ERROR, "timed out");
    galen::v1::Signal& signal = *request_.mutable_evidence()->mutable_summary()->add_signals();
    signal.set_id("signal/s@train.log");
    signal.set_source("train.log");
    signal.set_first_line(12);
    signal.set_meaning("a bad line");
  }
  void AddResult(const std::string& check, CheckResult::Status status, const std::string& message) {
    CheckResult& result = *request_.mutable_evidence()->add_results();
    result.set_id(check + "@n1");
    result.set_check(check);
    result.set_node("n1");
    result.set_status(status);
    result.set_message(message);
  }
  // ECC is confirmed and explains a remap and Xid 48; two leaves are rejected, one is open.
  void Confirmed() {
    *request_.add_hypotheses() = Judged("GPU.HEAT", Verdict::INCONCLUSIVE, 0.1, "");
    request_.mutable_hypotheses(0)->mutable_verdict()->add_missing("gpu.heat@n1: skipped");
    *request_.add_hypotheses() = Judged("GPU.CLOCK", Verdict::REJECTED, 0.04, "gpu.sram@n1");
    *request_.add_hypotheses() = Judged("GPU.SRAM", Verdict::REJECTED, 0.01, "gpu.sram@n1");
    *request_.add_hypotheses() = Judged("GPU.ECC", Verdict::CONFIRMED, 0.98, "gpu.ecc@n1");
    *request_.add_hypotheses() = Judged("GPU.REMAP", Verdict::CONFIRMED, 0.9, "gpu.ecc@n1");
    reasoner_.conclude->set_primary_label("GPU.ECC");
    reasoner_.conclude->set_headline("It is ECC");
    for (const char* effect : {"GPU.REMAP", "Xid 48"}) {
      auto& added = *reasoner_.conclude->add_effects();
      added.set_effect(effect);
      added.set_cause("GPU.ECC");
      added.set_text("follows");
      added.add_evidence_ids("signal/s@train.log");
    }
  }
  absl::StatusOr<v1::ConcludeResponse> Conclude() {
    return writer_.Conclude(request_, absl::InfiniteFuture());
  }
  static std::vector<std::string> Labels(const google::protobuf::RepeatedPtrField<Cause>& causes) {
    std::vector<std::string> labels;
    for (const Cause& cause : causes) labels.push_back(cause.label());
    return labels;
  }

  const knowledge::Knowledge knowledge_{Base()};
  FakeReasoner reasoner_;
  const ReportWriter writer_{knowledge_, reasoner_};
  v1::ConcludeRequest request_;
};

TEST_F(ReportWriterTest, PutsEachHypothesisInItsPlace) {
  Confirmed();
  const auto response = Conclude();
  ASSERT_TRUE(response.ok()) << response.status();
  const Report& report = response->report();
  EXPECT_EQ(report.outcome(), Report::CAUSE_CONFIRMED);
  EXPECT_EQ(report.primary_cause().label(), "GPU.ECC");
  EXPECT_EQ(report.primary_cause().devices(0).device(), "gpu:1");
  EXPECT_THAT(report.primary_cause().evidence_ids(), ElementsAre("gpu.ecc@n1"));
  EXPECT_EQ(report.primary_cause().explanation(), "why GPU.ECC");
  EXPECT_THAT(report.other_causes(), IsEmpty());
  EXPECT_THAT(Labels(report.secondary_effects()), ElementsAre("GPU.REMAP", "Xid 48"));
  EXPECT_EQ(report.secondary_effects(1).explained_by(), "GPU.ECC");
  EXPECT_THAT(Labels(report.ruled_out()), ElementsAre("GPU.SRAM", "GPU.CLOCK"))
      << "the look-alike of the cause stands first";
  EXPECT_THAT(report.ruled_out(0).evidence_ids(), ElementsAre("gpu.sram@n1"));
  EXPECT_THAT(Labels(report.undecided()), ElementsAre("GPU.HEAT"));
  EXPECT_THAT(report.undecided(0).explanation(), HasSubstr("gpu.heat@n1: skipped"));
  EXPECT_EQ(report.owner(), "provider");
  EXPECT_THAT(report.next_steps(), ElementsAre("gpu:1 on n1: repair GPU.ECC"));
  EXPECT_EQ(report.knowledge_digest(), "0123456789abcdef");
  EXPECT_EQ(report.reasoner(), "fake");
}

TEST_F(ReportWriterTest, ShowsEveryCitedPieceOfEvidenceOnce) {
  Confirmed();
  const Report report = Conclude()->report();
  std::vector<std::string> ids;
  for (const auto& evidence : report.evidence()) ids.push_back(evidence.id());
  EXPECT_THAT(ids, ElementsAre("gpu.ecc@n1", "signal/s@train.log", "gpu.sram@n1"));
  EXPECT_EQ(report.evidence(0).kind(), "check");
  EXPECT_EQ(report.evidence(0).text(), "1 uncorrectable error");
  EXPECT_EQ(report.evidence(1).line(), 12);
}

TEST_F(ReportWriterTest, CountsChecksAndSaysWhatLimitedTheAnswer) {
  Confirmed();
  request_.add_notes("planning failed once");
  const Report report = Conclude()->report();
  EXPECT_EQ(report.checks().pass(), 1);
  EXPECT_EQ(report.checks().fail(), 1);
  EXPECT_EQ(report.checks().skipped(), 2);
  EXPECT_EQ(report.checks().error(), 1);
  EXPECT_THAT(
      report.notes(),
      ElementsAre("planning failed once", "1 check with an error on n1 (system.log): timed out",
                  "2 checks skipped on n1 (gpu.heat, gpu.heat2): no nvidia-smi"));
}

TEST_F(ReportWriterTest, WritesEveryTestedHypothesisIntoTheTicketOrItsAttachment) {
  Confirmed();
  const Report report = Conclude()->report();
  for (const char* text : {"# It is ECC", "tenants/t/diagnoses/d1", "`GPU.ECC`", "GPU.SRAM",
                           "GPU.CLOCK", "Xid 48", "repair GPU.ECC", "Owner: provider"}) {
    EXPECT_THAT(report.ticket(), HasSubstr(text));
    EXPECT_THAT(report.provider_ticket(), HasSubstr(text));
  }
  for (const char* text : {"why GPU.CLOCK", "GPU.HEAT"}) {
    EXPECT_THAT(report.attachment(), HasSubstr(text));
  }
}

TEST_F(ReportWriterTest, QuotesWhatTheCustomerSaid) {
  const std::string ticket = Conclude()->report().ticket();
  EXPECT_THAT(ticket, HasSubstr("> # not a heading &lt;b>"));
  EXPECT_THAT(ticket, Not(HasSubstr("\n# not")));
}

TEST_F(ReportWriterTest, SaysWhatToCollectWhenNothingIsConfirmed) {
  *request_.add_hypotheses() = Judged("GPU.HEAT", Verdict::INCONCLUSIVE, 0.1, "");
  request_.mutable_hypotheses(0)->mutable_verdict()->add_missing("gpu.heat@n1: skipped");
  request_.add_suggestions()->set_title("Ask the vendor");
  const Report report = Conclude()->report();
  EXPECT_EQ(report.outcome(), Report::NO_CAUSE_CONFIRMED);
  EXPECT_FALSE(report.has_primary_cause());
  EXPECT_THAT(report.next_steps(),
              ElementsAre(HasSubstr("gpu.heat reads: nvidia-smi -q -x"), "Ask the vendor"));
  EXPECT_EQ(report.suggestions_size(), 1);
}

TEST_F(ReportWriterTest, AsksForNoLogThatWasRead) {
  *request_.add_hypotheses() = Judged("GPU.HEAT", Verdict::INCONCLUSIVE, 0.1, "");
  Verdict& verdict = *request_.mutable_hypotheses(0)->mutable_verdict();
  verdict.add_missing("gpu.heat@n1: ran without telling signal");
  EXPECT_THAT(Conclude()->report().next_steps(), Not(Contains(HasSubstr("gpu.heat reads"))));
  verdict.add_missing("gpu.heat@n2: skipped, the bundle holds no log");
  EXPECT_THAT(Conclude()->report().next_steps(), Contains(HasSubstr("gpu.heat reads")));
}

TEST_F(ReportWriterTest, NamesTheSuspectsWithWhatSpeaksForThemAndPresumesTheOneThatIsLikely) {
  for (const char* label : {"GPU.HEAT", "GPU.CLOCK"}) {
    Verdict& suspect = *reasoner_.conclude->add_suspects();
    suspect = Judged(label, Verdict::INCONCLUSIVE, 0.4, "gpu.ecc@n1").verdict();
  }
  reasoner_.conclude->set_presumed_label("GPU.HEAT");
  const Report report = Conclude()->report();
  EXPECT_EQ(report.outcome(), Report::NO_CAUSE_CONFIRMED);
  ASSERT_EQ(report.suspects_size(), 2);
  EXPECT_EQ(report.suspects(0).label(), "GPU.HEAT");
  EXPECT_EQ(report.suspects(0).probability(), 0.4);
  EXPECT_THAT(report.suspects(0).evidence_ids(), ElementsAre("gpu.ecc@n1"));
  EXPECT_EQ(report.presumed_cause().label(), "GPU.HEAT");
  EXPECT_THAT(report.next_steps(), Contains(HasSubstr("repair GPU.HEAT")));
}

TEST_F(ReportWriterTest, SuspectsOfWhichNoneIsLikelyPresumeNothing) {
  *reasoner_.conclude->add_suspects() =
      Judged("GPU.HEAT", Verdict::INCONCLUSIVE, 0.1, "gpu.ecc@n1").verdict();
  const Report report = Conclude()->report();
  EXPECT_EQ(report.suspects_size(), 1);
  EXPECT_FALSE(report.has_presumed_cause());
}

TEST_F(ReportWriterTest, AsksOnceForWhatTelemetryLackedAndFirstForWhatSilencedACheck) {
  request_.mutable_evidence()->mutable_results(0)->add_wanted("step times");
  request_.mutable_evidence()->mutable_results(2)->add_wanted("the counters");
  request_.mutable_evidence()->mutable_results(3)->add_wanted("the counters");
  const Report report = Conclude()->report();
  ASSERT_GE(report.next_steps_size(), 2);
  EXPECT_EQ(report.next_steps(0), "Collect the counters; gpu.heat, gpu.heat2 lack it");
  EXPECT_EQ(report.next_steps(1), "Collect step times; gpu.ecc lacks it");
}

TEST_F(ReportWriterTest, SaysWhichChecksWereLeftOutWhenNothingIsConfirmed) {
  EXPECT_THAT(Conclude()->report().notes(),
              Contains(HasSubstr("1 check was not run, since little pointed to them "
                                 "(gpu.unasked)")));
  Confirmed();
  EXPECT_THAT(Conclude()->report().notes(), Not(Contains(HasSubstr("not run"))));
}

TEST_F(ReportWriterTest, RefusesACauseThatIsNotConfirmed) {
  Confirmed();
  for (const char* label : {"GPU.HEAT", "GPU.SRAM", "NO.SUCH"}) {
    reasoner_.conclude->set_primary_label(label);
    EXPECT_THAT(Conclude(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(label)));
  }
}

TEST_F(ReportWriterTest, RefusesEvidenceAndExplanationsThatDoNotExist) {
  Confirmed();
  reasoner_.conclude->mutable_effects(0)->add_evidence_ids("made up");
  EXPECT_THAT(Conclude(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("made up")));
  reasoner_.conclude->mutable_effects(0)->clear_evidence_ids();
  reasoner_.conclude->mutable_effects(0)->set_cause("GPU.CLOCK");
  EXPECT_THAT(Conclude(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("GPU.CLOCK")));
}

TEST_F(ReportWriterTest, GivesTheSameReportForTheSameRequest) {
  Confirmed();
  EXPECT_EQ(Conclude()->SerializeAsString(), Conclude()->SerializeAsString());
}

TEST_F(ReportWriterTest, DrawsTheReasoningAsAGraphWithoutCycles) {
  Confirmed();
  Hypothesis& added = *request_.add_hypotheses();
  added = Judged("GPU.LATE", Verdict::REJECTED, 0.1, "gpu.sram@n1");
  added.set_origin(Hypothesis::CRITIQUE);
  const v1::ConcludeResponse response = *Conclude();
  std::set<std::string> seen;
  std::set<int> kinds;
  for (const ReasoningStep& step : response.reasoning()) {
    for (const std::string& parent : step.parents()) {
      EXPECT_TRUE(seen.contains(parent)) << step.id() << " stands before its parent " << parent;
    }
    EXPECT_TRUE(seen.insert(step.id()).second) << step.id() << " stands twice";
    kinds.insert(step.kind());
  }
  EXPECT_EQ(kinds.size(), 5U) << "every kind of step";
  EXPECT_EQ(response.reasoning(response.reasoning_size() - 1).id(), "summary");
  EXPECT_TRUE(seen.contains("verification/GPU.LATE"));
}

TEST_F(ReportWriterTest, NamesAPresumedCauseOnlyAsWhatItIs) {
  Hypothesis& guess = *request_.add_hypotheses();
  guess.set_label("GPU.ECC");
  guess.set_title("title of GPU.ECC");
  guess.set_prior(0.4);
  guess.set_reason("a bad line");
  guess.add_evidence_ids("signal/s@train.log");
  guess.add_similar_incidents("INC-1");
  request_.set_presumed("GPU.ECC");
  const auto response = Conclude();
  ASSERT_TRUE(response.ok()) << response.status();
  const Report& report = response->report();
  EXPECT_EQ(report.outcome(), Report::NO_CAUSE_CONFIRMED);
  EXPECT_FALSE(report.has_primary_cause());
  EXPECT_EQ(report.presumed_cause().label(), "GPU.ECC");
  EXPECT_EQ(report.presumed_cause().probability(), 0.4);
  EXPECT_EQ(report.presumed_cause().explanation(), "a bad line");
  EXPECT_THAT(report.presumed_cause().devices(), IsEmpty());
  EXPECT_THAT(report.presumed_cause().evidence_ids(),
              ElementsAre("signal/s@train.log", "incident/INC-1"));
  ASSERT_EQ(report.evidence_size(), 2);
  EXPECT_EQ(report.evidence(1).kind(), "incident");
  EXPECT_THAT(report.headline(), HasSubstr("not verified: title of GPU.ECC"));
  EXPECT_THAT(report.next_steps(0), HasSubstr("Verify the presumed cause"));
  EXPECT_THAT(report.ticket(), HasSubstr("## Presumed cause, not verified: title of GPU.ECC"));
  EXPECT_THAT(report.ticket(), Not(HasSubstr("## Cause:")));
  EXPECT_EQ(response->reasoning().rbegin()->label(), "GPU.ECC");
}

TEST_F(ReportWriterTest, PresumesNothingThatCitesNothing) {
  request_.add_hypotheses()->set_label("GPU.ECC");
  request_.set_presumed("GPU.ECC");
  const auto response = Conclude();
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_FALSE(response->report().has_presumed_cause());
}

TEST_F(ReportWriterTest, PresumesNothingBesideAConfirmedCauseAndNothingThatWasTested) {
  Confirmed();
  for (Hypothesis& each : *request_.mutable_hypotheses()) each.add_similar_incidents("INC-1");
  for (const char* label : {"GPU.ECC", "GPU.SRAM", "GPU.HEAT"}) {
    request_.set_presumed(label);
    const auto response = Conclude();
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_FALSE(response->report().has_presumed_cause()) << label;
  }
}

}  // namespace
}  // namespace galen::conclusion
