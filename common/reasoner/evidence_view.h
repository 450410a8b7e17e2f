#ifndef COMMON_REASONER_EVIDENCE_VIEW_H_
#define COMMON_REASONER_EVIDENCE_VIEW_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "galen/v1/evidence.pb.h"

namespace galen::reasoner {

// An evidence set with lookup by check and node. If two results have the same id, the later one
// counts. Refers to `evidence`, which must outlive the view. Thread-safe.
class EvidenceView {
 public:
  explicit EvidenceView(const galen::v1::EvidenceSet& evidence);

  const galen::v1::EvidenceSet& evidence() const { return evidence_; }
  const galen::v1::Summary& summary() const { return evidence_.summary(); }

  // Every node that has a result, sorted.
  const std::vector<std::string>& nodes() const { return nodes_; }
  // The results, each id once, ordered by id.
  const std::vector<const galen::v1::CheckResult*>& results() const { return results_; }
  // A logged event, by its name in the knowledge (EffectName).
  struct Event {
    std::string name;
    const galen::v1::Finding* finding;
    const galen::v1::CheckResult* result;
  };
  const std::vector<Event>& events() const { return events_; }
  // nullptr: the check has not run on that node.
  const galen::v1::CheckResult* Find(absl::string_view check, absl::string_view node) const;
  // By evidence id. nullptr: there is none.
  const galen::v1::Signal* FindSignal(absl::string_view id) const;
  // The signals that name the label, in the order of the summary.
  absl::Span<const galen::v1::Signal* const> SignalsFor(absl::string_view label) const;
  // The signals that speak against the label or a label above it.
  std::vector<const galen::v1::Signal*> SignalsAgainst(absl::string_view label) const;

 private:
  const galen::v1::EvidenceSet& evidence_;
  std::vector<std::string> nodes_;
  std::vector<const galen::v1::CheckResult*> results_;
  std::vector<Event> events_;
  absl::flat_hash_map<std::pair<absl::string_view, absl::string_view>,
                      const galen::v1::CheckResult*>
      by_check_and_node_;
  absl::flat_hash_map<absl::string_view, const galen::v1::Signal*> signals_;
  absl::flat_hash_map<absl::string_view, std::vector<const galen::v1::Signal*>> signals_for_;
  absl::flat_hash_map<absl::string_view, std::vector<const galen::v1::Signal*>> signals_against_;
};

// Whether the check completed, with any result. SKIPPED and ERROR are not evidence.
inline bool Ran(const galen::v1::CheckResult& result) {
  return result.status() == galen::v1::CheckResult::PASS ||
         result.status() == galen::v1::CheckResult::FAIL;
}

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_EVIDENCE_VIEW_H_
