#include "common/reasoner/evidence_view.h"

#include <algorithm>

namespace galen::reasoner {

EvidenceView::EvidenceView(const galen::v1::EvidenceSet& evidence) : evidence_(evidence) {
  for (const galen::v1::CheckResult& result : evidence.results()) {
    by_check_and_node_[{result.check(), result.node()}] = &result;
    by_id_[result.id()] = &result;
  }
  for (const auto& [key, result] : by_check_and_node_) {
    results_.push_back(result);
    nodes_.push_back(result->node());
  }
  std::sort(results_.begin(), results_.end(), [](const auto* a, const auto* b) {
    return std::make_pair(absl::string_view(a->check()), absl::string_view(a->node())) <
           std::make_pair(absl::string_view(b->check()), absl::string_view(b->node()));
  });
  std::sort(nodes_.begin(), nodes_.end());
  nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
  for (const galen::v1::Signal& signal : evidence.summary().signals()) {
    signals_.emplace(signal.id(), &signal);
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

const galen::v1::CheckResult* EvidenceView::FindResult(absl::string_view id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : it->second;
}

}  // namespace galen::reasoner
