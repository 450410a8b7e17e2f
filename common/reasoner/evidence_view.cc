#include "common/reasoner/evidence_view.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "common/reasoner/rule_index.h"

namespace galen::reasoner {

EvidenceView::EvidenceView(const galen::v1::EvidenceSet& evidence) : evidence_(evidence) {
  const auto size = static_cast<std::size_t>(evidence.results_size());
  by_check_and_node_.reserve(size);
  results_.reserve(size);
  absl::flat_hash_set<absl::string_view> nodes;
  for (const galen::v1::CheckResult& result : evidence.results()) {
    by_check_and_node_[{result.check(), result.node()}] = &result;
    if (nodes.insert(result.node()).second) nodes_.push_back(result.node());
  }
  for (const auto& [key, result] : by_check_and_node_) results_.push_back(result);
  const auto before = [](const auto* a, const auto* b) {
    const int order = a->check().compare(b->check());
    return order != 0 ? order < 0 : a->node() < b->node();
  };
  std::sort(results_.begin(), results_.end(), before);
  std::sort(nodes_.begin(), nodes_.end());
  for (const galen::v1::CheckResult* result : results_) {
    for (const galen::v1::Finding& finding : result->findings()) {
      std::string name = EffectName(finding);
      if (!name.empty()) events_.push_back({std::move(name), &finding, result});
    }
  }
  for (const galen::v1::Signal& signal : evidence.summary().signals()) {
    signals_.emplace(signal.id(), &signal);
    for (const std::string& label : signal.labels()) {
      std::vector<const galen::v1::Signal*>& those = signals_for_[label];
      if (those.empty() || those.back() != &signal) those.push_back(&signal);
    }
    for (const std::string& label : signal.refutes()) signals_against_[label].push_back(&signal);
  }
}

const galen::v1::CheckResult* EvidenceView::Find(absl::string_view check,
                                                 absl::string_view node) const {
  const auto it = by_check_and_node_.find({check, node});
  return it == by_check_and_node_.end() ? nullptr : it->second;
}

const galen::v1::Signal* EvidenceView::FindSignal(absl::string_view id) const {
  const auto it = signals_.find(id);
  return it == signals_.end() ? nullptr : it->second;
}

absl::Span<const galen::v1::Signal* const> EvidenceView::SignalsFor(absl::string_view label) const {
  const auto it = signals_for_.find(label);
  if (it == signals_for_.end()) return {};
  return it->second;
}

std::vector<const galen::v1::Signal*> EvidenceView::SignalsAgainst(absl::string_view label) const {
  std::vector<const galen::v1::Signal*> against;
  if (signals_against_.empty()) return against;
  for (absl::string_view above = label;; above = above.substr(0, above.rfind('.'))) {
    if (const auto it = signals_against_.find(above); it != signals_against_.end()) {
      against.insert(against.end(), it->second.begin(), it->second.end());
    }
    if (!absl::StrContains(above, '.')) return against;
  }
}

}  // namespace galen::reasoner
