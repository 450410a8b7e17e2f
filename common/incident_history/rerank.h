#ifndef COMMON_INCIDENT_HISTORY_RERANK_H_
#define COMMON_INCIDENT_HISTORY_RERANK_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "common/incident_history/view.h"

namespace galen::incident_history {

// How alike a question and a document really are: the cosine of their words and pairs of
// neighbouring words, weighted by how often (logarithmically) and how rare they are. Exact, where
// the rankings that bring candidates are of one kind each or approximate. Immutable; `view` must
// outlive it.
class Similarity {
 public:
  Similarity(const View& view, absl::string_view question);

  // 0 to 1.
  double Of(const Scored& document) const;

 private:
  const View& view_;
  absl::flat_hash_map<std::uint64_t, double> terms_;
  absl::flat_hash_map<std::uint16_t, double> pairs_;
  double norm_ = 0;
};

}  // namespace galen::incident_history

#endif  // COMMON_INCIDENT_HISTORY_RERANK_H_
