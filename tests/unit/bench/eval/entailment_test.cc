#include "bench/eval/runner/entailment.h"

#include <string>

#include "gtest/gtest.h"

namespace galen::eval {
namespace {

using galen::v1::CheckResult;
using galen::v1::Diagnosis;
using galen::v1::Reason;
using galen::v1::Verdict;

// GPU.A: confirmed by more than no errors, refuted by a check that found another fault.
knowledge::v1::KnowledgeBase Base() {
  knowledge::v1::KnowledgeBase base;
  knowledge::v1::Label& label = *base.add_labels();
  label.set_label("GPU.A");
  const auto add = [](auto* rules, const char* check, const char* finding, const char* value) {
    knowledge::v1::Rule& rule = *rules->Add();
    rule.set_check(check);
    rule.set_finding(finding);
    rule.set_op(knowledge::v1::Rule::GT);
    rule.set_value(value);
    return &rule;
  };
  add(label.mutable_confirm(), "gpu.ecc", "errors", "0");
  add(label.mutable_confirm(), "gpu.mode", "mode", "0")->set_context(true);
  add(label.mutable_refute(), "gpu.other", "other_fault", "5");
  for (const char* name : {"gpu.ecc", "gpu.mode", "gpu.other"}) base.add_checks()->set_name(name);
  return base;
}

class EntailmentTest : public testing::Test {
 protected:
  void AddResult(const std::string& check, const std::string& finding, std::int64_t value) {
    CheckResult& result = *diagnosis_.add_check_results();
    result.set_check(check);
    result.set_node("n1");
    result.set_id(check + "@n1");
    result.set_status(value > 0 ? CheckResult::FAIL : CheckResult::PASS);
    galen::v1::Finding& found = *result.add_findings();
    found.set_name(finding);
    found.mutable_subject()->set_node("n1");
    found.set_int_value(value);
  }
  bool Entailed(Verdict::Outcome outcome, const std::vector<std::string>& cited,
                const std::string& node = "n1") const {
    Verdict verdict;
    verdict.set_label("GPU.A");
    verdict.set_outcome(outcome);
    for (const std::string& id : cited) verdict.add_reasons()->add_evidence_ids(id);
    if (outcome == Verdict::CONFIRMED) verdict.add_devices()->set_node(node);
    return IsEntailed(diagnosis_, verdict, knowledge_);
  }

  const knowledge::Knowledge knowledge_{Base()};
  Diagnosis diagnosis_;
};

TEST_F(EntailmentTest, AConfirmRuleThatIsTrueOverCitedEvidenceEntailsACause) {
  AddResult("gpu.ecc", "errors", 3);
  EXPECT_TRUE(Entailed(Verdict::CONFIRMED, {"gpu.ecc@n1"}));
}

TEST_F(EntailmentTest, EvidenceThatIsNotCitedEntailsNothing) {
  AddResult("gpu.ecc", "errors", 3);
  AddResult("gpu.other", "other_fault", 0);
  EXPECT_FALSE(Entailed(Verdict::CONFIRMED, {}));
  EXPECT_FALSE(Entailed(Verdict::CONFIRMED, {"gpu.other@n1"}));
  EXPECT_FALSE(Entailed(Verdict::CONFIRMED, {"gpu.ecc@nowhere"}));
}

TEST_F(EntailmentTest, CitingAHealthyResultEntailsNoCause) {
  AddResult("gpu.ecc", "errors", 0);
  EXPECT_FALSE(Entailed(Verdict::CONFIRMED, {"gpu.ecc@n1"}));
}

TEST_F(EntailmentTest, EvidenceOfAnotherNodeThanTheAccusedEntailsNothing) {
  AddResult("gpu.ecc", "errors", 3);
  EXPECT_FALSE(Entailed(Verdict::CONFIRMED, {"gpu.ecc@n1"}, "n2"));
}

TEST_F(EntailmentTest, ContextEntailsACauseOnlyBesideAMessageOfThatCause) {
  AddResult("gpu.mode", "mode", 1);
  EXPECT_FALSE(Entailed(Verdict::CONFIRMED, {"gpu.mode@n1"}));
  galen::v1::Signal& signal = *diagnosis_.mutable_summary()->add_signals();
  signal.set_id("signal/x@log");
  signal.set_where(galen::v1::JOB_LOG);
  signal.add_labels("GPU.A");
  EXPECT_FALSE(Entailed(Verdict::CONFIRMED, {"gpu.mode@n1"})) << "it must be cited";
  EXPECT_TRUE(Entailed(Verdict::CONFIRMED, {"gpu.mode@n1", "signal/x@log"}));
  signal.set_where(galen::v1::DESCRIPTION);
  EXPECT_FALSE(Entailed(Verdict::CONFIRMED, {"gpu.mode@n1", "signal/x@log"}));
}

TEST_F(EntailmentTest, ARejectionNeedsARefutationOrSignsThatWereSoughtInVain) {
  AddResult("gpu.other", "other_fault", 9);
  EXPECT_TRUE(Entailed(Verdict::REJECTED, {"gpu.other@n1"}));
  AddResult("gpu.ecc", "errors", 0);
  EXPECT_TRUE(Entailed(Verdict::REJECTED, {"gpu.ecc@n1"}));
  EXPECT_FALSE(Entailed(Verdict::REJECTED, {}));
}

TEST_F(EntailmentTest, ASignThatIsThereEntailsNoRejection) {
  AddResult("gpu.ecc", "errors", 3);
  EXPECT_FALSE(Entailed(Verdict::REJECTED, {"gpu.ecc@n1"}));
}

TEST_F(EntailmentTest, AnUndecidedVerdictClaimsNothing) {
  EXPECT_TRUE(Entailed(Verdict::INCONCLUSIVE, {}));
}

TEST_F(EntailmentTest, AVerdictOnAnUnknownLabelIsEntailedByNothing) {
  Verdict verdict;
  verdict.set_label("GPU.NONE");
  verdict.set_outcome(Verdict::CONFIRMED);
  EXPECT_FALSE(IsEntailed(diagnosis_, verdict, knowledge_));
}

}  // namespace
}  // namespace galen::eval
