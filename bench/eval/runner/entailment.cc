#include "bench/eval/runner/entailment.h"

#include <algorithm>
#include <set>
#include <string>

#include "common/reasoner/entry.h"
#include "common/reasoner/evidence_view.h"

namespace galen::eval {
namespace {

using galen::v1::Verdict;
using knowledge::Truth;
using knowledge::v1::Label;
using reasoner::EvidenceView;

// The results and signals of the diagnosis that the verdict cites.
galen::v1::EvidenceSet CitedEvidence(const galen::v1::Diagnosis& diagnosis,
                                     const Verdict& verdict) {
  std::set<std::string> cited;
  for (const galen::v1::Reason& reason : verdict.reasons()) {
    cited.insert(reason.evidence_ids().begin(), reason.evidence_ids().end());
  }
  galen::v1::EvidenceSet evidence;
  for (const galen::v1::CheckResult& result : diagnosis.check_results()) {
    if (cited.count(result.id()) > 0) *evidence.add_results() = result;
  }
  for (const galen::v1::Signal& signal : diagnosis.summary().signals()) {
    if (cited.count(signal.id()) > 0) *evidence.mutable_summary()->add_signals() = signal;
  }
  return evidence;
}

bool SaidByALog(const EvidenceView& evidence, const Label& label) {
  const auto& signals = evidence.summary().signals();
  return std::any_of(signals.begin(), signals.end(), [&](const galen::v1::Signal& signal) {
    return signal.where() != galen::v1::DESCRIPTION &&
           std::find(signal.labels().begin(), signal.labels().end(), label.label()) !=
               signal.labels().end();
  });
}

bool ConfirmedOn(const std::string& node, const Label& label, const EvidenceView& evidence,
                 const knowledge::Knowledge& knowledge) {
  const bool said = SaidByALog(evidence, label);
  return std::any_of(label.confirm().begin(), label.confirm().end(), [&](const auto& rule) {
    return (!rule.context() || said) &&
           reasoner::EvaluateConfirm(knowledge, rule, evidence, node).truth == Truth::kTrue;
  });
}

bool RejectedOn(const std::string& node, const Label& label, const EvidenceView& evidence,
                const knowledge::Knowledge& knowledge) {
  for (const knowledge::v1::Rule& rule : label.refute()) {
    if (reasoner::EvaluateRefute(knowledge, rule, evidence, node).truth == Truth::kTrue) {
      return true;
    }
  }
  bool read = false;
  for (const knowledge::v1::Rule& rule : label.confirm()) {
    const Truth truth = reasoner::EvaluateConfirm(knowledge, rule, evidence, node).truth;
    if (truth == Truth::kTrue && !rule.context()) return false;
    read = read || truth == Truth::kFalse;
  }
  return read;
}

}  // namespace

bool IsEntailed(const galen::v1::Diagnosis& diagnosis, const Verdict& verdict,
                const knowledge::Knowledge& knowledge) {
  if (verdict.outcome() != Verdict::CONFIRMED && verdict.outcome() != Verdict::REJECTED) {
    return true;
  }
  const Label* label = knowledge.FindLabel(verdict.label());
  if (label == nullptr) return false;
  const galen::v1::EvidenceSet evidence = CitedEvidence(diagnosis, verdict);
  const EvidenceView view(evidence);
  if (verdict.outcome() == Verdict::REJECTED) {
    return std::any_of(view.nodes().begin(), view.nodes().end(), [&](const std::string& node) {
      return RejectedOn(node, *label, view, knowledge);
    });
  }
  std::set<std::string> accused;
  for (const galen::v1::Device& device : verdict.devices()) accused.insert(device.node());
  return std::any_of(view.nodes().begin(), view.nodes().end(), [&](const std::string& node) {
    return (accused.empty() || accused.count(node) > 0) &&
           ConfirmedOn(node, *label, view, knowledge);
  });
}

}  // namespace galen::eval
