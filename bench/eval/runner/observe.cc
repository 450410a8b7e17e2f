#include "bench/eval/runner/observe.h"

#include <map>
#include <string>
#include <utility>

#include "common/reasoner/entry.h"
#include "common/reasoner/evidence_view.h"
#include "common/reasoner/rates.h"

namespace galen::eval {

using knowledge::Truth;
using reasoner::Entry;

std::vector<v1::Observed> Observe(const galen::v1::Diagnosis& diagnosis,
                                  const knowledge::Knowledge& knowledge) {
  galen::v1::EvidenceSet evidence;
  *evidence.mutable_results() = diagnosis.check_results();
  *evidence.mutable_summary() = diagnosis.summary();
  const reasoner::EvidenceView view(evidence);
  std::map<std::string, bool> seen;
  const auto add = [&](const std::string& name, const Entry& entry, bool is_it) {
    if (entry.truth == Truth::kUnknown) return;
    bool& is_seen = seen[name];
    is_seen = is_seen || (is_it && entry.truth == Truth::kTrue);
  };
  for (const knowledge::v1::Label& label : knowledge.base().labels()) {
    for (const std::string& node : view.nodes()) {
      for (const auto& rule : label.confirm()) {
        const Entry entry = reasoner::EvaluateConfirm(knowledge, rule, view, node);
        const bool on_some = reasoner::IsOnSome(view, entry);
        add(reasoner::ObservationName(rule), entry, !on_some);
        add(reasoner::ObservationName(rule, true), entry, on_some);
      }
      for (const auto& rule : label.refute()) {
        add(reasoner::RefutationName(rule), reasoner::EvaluateRefute(knowledge, rule, view, node),
            true);
      }
    }
  }
  for (const galen::v1::Signal& signal : diagnosis.summary().signals()) {
    seen[reasoner::MessageName(signal.signal(), signal.where() == galen::v1::DESCRIPTION)] = true;
  }
  std::vector<v1::Observed> observed;
  for (auto& [name, is_seen] : seen) {
    v1::Observed& each = observed.emplace_back();
    each.set_name(name);
    each.set_seen(is_seen);
  }
  return observed;
}

}  // namespace galen::eval
