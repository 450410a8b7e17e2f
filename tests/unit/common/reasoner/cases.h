#ifndef TESTS_UNIT_COMMON_REASONER_CASES_H_
#define TESTS_UNIT_COMMON_REASONER_CASES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/knowledge/knowledge.h"
#include "common/knowledge/load.h"
#include "common/knowledge/rules.h"
#include "common/reasoner/evidence_view.h"
#include "common/reasoner/judge.h"
#include "common/reasoner/rule_index.h"
#include "galen/knowledge/v1/knowledge.pb.h"
#include "galen/v1/diagnosis.pb.h"
#include "galen/v1/evidence.pb.h"

// Evidence and knowledge in few words, for tests.
namespace galen::reasoner::testing {

inline galen::v1::Finding MakeFinding(const std::string& name, const std::string& device) {
  galen::v1::Finding finding;
  finding.set_name(name);
  finding.mutable_subject()->set_device(device);
  return finding;
}
inline galen::v1::Finding Int(const std::string& name, int64_t value,
                              const std::string& device = "") {
  galen::v1::Finding finding = MakeFinding(name, device);
  finding.set_int_value(value);
  return finding;
}
inline galen::v1::Finding Bool(const std::string& name, bool value,
                               const std::string& device = "") {
  galen::v1::Finding finding = MakeFinding(name, device);
  finding.set_bool_value(value);
  return finding;
}
inline galen::v1::Finding Text(const std::string& name, const std::string& value,
                               const std::string& device = "") {
  galen::v1::Finding finding = MakeFinding(name, device);
  finding.set_text_value(value);
  return finding;
}
// An event of `code`, `seconds` after the epoch.
inline galen::v1::Finding Event(const std::string& name, const std::string& code,
                                const std::string& device = "", int64_t seconds = 0) {
  galen::v1::Finding finding = MakeFinding(name, device);
  finding.mutable_event_value()->set_code(code);
  finding.mutable_event_value()->set_count(1);
  if (seconds > 0) finding.mutable_event_value()->mutable_time()->set_seconds(seconds);
  return finding;
}
inline galen::v1::Finding Unknown(const std::string& name, const std::string& device = "") {
  return MakeFinding(name, device);
}

// The observations of one incident.
class Scene {
 public:
  explicit Scene(const knowledge::Knowledge& knowledge) : knowledge_(knowledge) {}

  // The check ran; findings beyond their declared limits are marked as a node marks them.
  Scene& Saw(const std::string& check, std::vector<galen::v1::Finding> findings,
             const std::string& node = "n1") {
    galen::v1::CheckResult& result = Add(check, node);
    for (galen::v1::Finding& finding : findings) {
      finding.mutable_subject()->set_node(node);
      *result.add_findings() = std::move(finding);
    }
    result.set_status(galen::v1::CheckResult::PASS);
    for (galen::v1::Finding& finding : *result.mutable_findings()) {
      const knowledge::v1::FindingSpec* spec = knowledge_.FindFinding(check, finding.name());
      if (spec == nullptr || spec->abnormal().op() == knowledge::v1::Rule::OP_UNSPECIFIED) continue;
      if (knowledge::Compare(spec->abnormal(), finding, result) != knowledge::Truth::kTrue)
        continue;
      finding.set_abnormal(true);
      result.set_status(galen::v1::CheckResult::FAIL);
    }
    return *this;
  }
  Scene& Skipped(const std::string& check, const std::string& node = "n1") {
    galen::v1::CheckResult& result = Add(check, node);
    result.set_status(galen::v1::CheckResult::SKIPPED);
    result.set_message("no such tool");
    return *this;
  }
  // A part of the check's output was given, and shows this.
  Scene& SawAPart(const std::string& check, std::vector<galen::v1::Finding> findings) {
    Saw(check, std::move(findings));
    evidence_.mutable_results()->rbegin()->set_status(galen::v1::CheckResult::SKIPPED);
    return *this;
  }
  Scene& Failed(const std::string& check, const std::string& node = "n1") {
    Add(check, node).set_status(galen::v1::CheckResult::ERROR);
    return *this;
  }
  Scene& Read(const std::string& signal, std::vector<std::string> labels,
              galen::v1::Strength strength, const std::string& excerpt = "a line", int line = 7) {
    galen::v1::Signal& read = *evidence_.mutable_summary()->add_signals();
    read.set_signal(signal);
    read.set_source("train.log");
    read.set_id(absl::StrCat("signal/", signal, "@train.log"));
    read.set_strength(strength);
    read.set_role(galen::v1::PRIMARY);
    read.set_first_line(line);
    read.set_count(1);
    read.set_excerpt(excerpt);
    read.set_meaning(absl::StrCat("meaning of ", signal));
    for (std::string& label : labels) read.add_labels(std::move(label));
    return *this;
  }

  // The message read last speaks against the label as well.
  Scene& Against(const std::string& label) {
    evidence_.mutable_summary()->mutable_signals()->rbegin()->add_refutes(label);
    return *this;
  }

  // The message read last was not in a log: a person wrote it.
  Scene& InWords() {
    galen::v1::Summary& summary = *evidence_.mutable_summary();
    summary.mutable_signals()->rbegin()->set_where(galen::v1::DESCRIPTION);
    return *this;
  }

  const galen::v1::EvidenceSet& evidence() const { return evidence_; }

 private:
  galen::v1::CheckResult& Add(const std::string& check, const std::string& node) {
    galen::v1::CheckResult& result = *evidence_.add_results();
    result.set_id(absl::StrCat(check, "@", node));
    result.set_check(check);
    result.set_node(node);
    return result;
  }

  const knowledge::Knowledge& knowledge_;
  galen::v1::EvidenceSet evidence_;
};

// Knowledge made by hand: leaves below MAIN.SUB, checks with one or more findings.
class KnowledgeBuilder {
 public:
  KnowledgeBuilder() {
    base_.add_labels()->set_label("MAIN");
    knowledge::v1::Label& sub = *base_.add_labels();
    sub.set_label("MAIN.SUB");
    sub.set_parent("MAIN");
  }

  // `limit` is "" for none, else "<op> <value>" of a bool, int or event finding.
  KnowledgeBuilder& Check(const std::string& check, const std::string& finding,
                          const std::string& type,
                          knowledge::v1::Rule::Op op = knowledge::v1::Rule::OP_UNSPECIFIED,
                          const std::string& value = "") {
    knowledge::v1::Check* entry = nullptr;
    for (knowledge::v1::Check& each : *base_.mutable_checks()) {
      if (each.name() == check) entry = &each;
    }
    if (entry == nullptr) entry = base_.add_checks();
    entry->set_name(check);
    entry->set_title(check);
    knowledge::v1::FindingSpec& spec = *entry->add_findings();
    spec.set_name(finding);
    spec.set_type(type);
    spec.mutable_abnormal()->set_op(op);
    spec.mutable_abnormal()->set_value(value);
    return *this;
  }
  // All findings so far are about devices of this kind.
  KnowledgeBuilder& AllAbout(const std::string& subject) {
    for (knowledge::v1::Check& check : *base_.mutable_checks()) {
      for (knowledge::v1::FindingSpec& spec : *check.mutable_findings()) spec.set_subject(subject);
    }
    return *this;
  }
  KnowledgeBuilder& Leaf(const std::string& label, const std::string& prior = "medium") {
    knowledge::v1::Label& leaf = *base_.add_labels();
    leaf.set_label(label);
    leaf.set_parent("MAIN.SUB");
    leaf.set_title(label);
    leaf.set_prior(prior);
    return *this;
  }
  KnowledgeBuilder& Confirm(const std::string& check, const std::string& finding,
                            knowledge::v1::Rule::Op op, const std::string& value) {
    knowledge::v1::Rule& rule = *Last().add_confirm();
    Fill(rule, check, finding, op, value);
    rule.set_defining(true);
    return *this;
  }
  // The last confirm rule sees a state, not the fault itself.
  KnowledgeBuilder& AsState() {
    Last().mutable_confirm(Last().confirm_size() - 1)->set_defining(false);
    return *this;
  }
  KnowledgeBuilder& Refute(const std::string& check, const std::string& finding,
                           knowledge::v1::Rule::Op op, const std::string& value) {
    Fill(*Last().add_refute(), check, finding, op, value);
    return *this;
  }
  // The last confirm rule holds on healthy machines too.
  KnowledgeBuilder& AsContext() {
    Last().mutable_confirm(Last().confirm_size() - 1)->set_context(true);
    return *this;
  }
  // The last confirm rule asks for this as well.
  KnowledgeBuilder& With(const std::string& check, const std::string& finding,
                         knowledge::v1::Rule::Op op, const std::string& value) {
    Fill(*Last().mutable_confirm(Last().confirm_size() - 1)->add_with(), check, finding, op, value);
    return *this;
  }
  // The last refute rule excludes the cause by definition.
  KnowledgeBuilder& Excludes() {
    Last().mutable_refute(Last().refute_size() - 1)->set_defining(true);
    return *this;
  }
  // The last refute rule asks for this as well.
  KnowledgeBuilder& RefuteWith(const std::string& check, const std::string& finding,
                               knowledge::v1::Rule::Op op, const std::string& value) {
    Fill(*Last().mutable_refute(Last().refute_size() - 1)->add_with(), check, finding, op, value);
    return *this;
  }
  // The label only describes the symptom of a failure.
  KnowledgeBuilder& Residual() {
    Last().set_residual(true);
    return *this;
  }
  KnowledgeBuilder& Costs(const std::string& check, int milliseconds) {
    for (knowledge::v1::Check& each : *base_.mutable_checks()) {
      if (each.name() != check) continue;
      each.mutable_cost()->set_seconds(milliseconds / 1000);
      each.mutable_cost()->set_nanos(milliseconds % 1000 * 1'000'000);
    }
    return *this;
  }
  KnowledgeBuilder& Reads(const std::string& check, const std::string& what) {
    for (knowledge::v1::Check& each : *base_.mutable_checks()) {
      if (each.name() == check) each.add_reads(what);
    }
    return *this;
  }
  KnowledgeBuilder& Causes(const std::string& effect) {
    Last().add_secondary_effects(effect);
    return *this;
  }
  KnowledgeBuilder& LooksLike(const std::string& label) {
    Last().add_confused_with(label);
    return *this;
  }
  KnowledgeBuilder& Past(const std::string& id, const std::string& label, const std::string& title,
                         const std::string& text) {
    knowledge::v1::PastIncident& incident = *base_.add_incidents();
    incident.set_id(id);
    incident.set_label(label);
    incident.set_title(title);
    incident.set_description(text);
    return *this;
  }

  // People describe the leaf in these sentences.
  KnowledgeBuilder& Told(const std::string& label, const std::vector<std::string>& sentences) {
    knowledge::v1::Complaints& complaints = *base_.add_complaints();
    complaints.set_label(label);
    complaints.mutable_told()->Assign(sentences.begin(), sentences.end());
    return *this;
  }

  // `seen` of `asked` incidents with another cause showed it.
  KnowledgeBuilder& Rate(const std::string& of, int seen, int asked) {
    knowledge::v1::BaseRate& rate = *base_.add_base_rates();
    rate.set_of(of);
    rate.set_seen(seen);
    rate.set_asked(asked);
    return *this;
  }

  knowledge::Knowledge Make() const { return knowledge::Knowledge(base_); }

 private:
  knowledge::v1::Label& Last() { return *base_.mutable_labels(base_.labels_size() - 1); }
  static void Fill(knowledge::v1::Rule& rule, const std::string& check, const std::string& finding,
                   knowledge::v1::Rule::Op op, const std::string& value) {
    rule.set_check(check);
    rule.set_finding(finding);
    rule.set_op(op);
    rule.set_value(value);
  }

  knowledge::v1::KnowledgeBase base_;
};

// A case with all that it refers to.
class Asked {
 public:
  // `alike`: leaves that the words of the report make 25 times likelier.
  Asked(const knowledge::Knowledge& knowledge, const galen::v1::EvidenceSet& evidence,
        const std::vector<std::string>& alike = {})
      : knowledge_(knowledge), index_(knowledge), rates_(knowledge), view_(evidence) {
    for (const std::string& leaf : alike) alike_[leaf] = {3.2, "it fails"};
  }

  Case the_case() const { return {knowledge_, index_, rates_, view_, alike_}; }

 private:
  const knowledge::Knowledge& knowledge_;
  const RuleIndex index_;
  const Rates rates_;
  const EvidenceView view_;
  Likeness alike_;
};

inline galen::v1::Verdict JudgeOf(const knowledge::Knowledge& knowledge, const Scene& scene,
                                  const std::string& label) {
  const Asked asked(knowledge, scene.evidence());
  return Judge(asked.the_case(), Beliefs(asked.the_case()), *knowledge.FindLabel(label));
}

inline galen::v1::Hypothesis Judged(galen::v1::Verdict verdict) {
  galen::v1::Hypothesis hypothesis;
  hypothesis.set_label(verdict.label());
  hypothesis.set_status(
      verdict.outcome() == galen::v1::Verdict::CONFIRMED  ? galen::v1::Hypothesis::CONFIRMED
      : verdict.outcome() == galen::v1::Verdict::REJECTED ? galen::v1::Hypothesis::REJECTED
                                                          : galen::v1::Hypothesis::INCONCLUSIVE);
  *hypothesis.mutable_verdict() = std::move(verdict);
  return hypothesis;
}

}  // namespace galen::reasoner::testing

#endif  // TESTS_UNIT_COMMON_REASONER_CASES_H_
