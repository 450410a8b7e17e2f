#ifndef COMMON_INCIDENT_HISTORY_RARITIES_H_
#define COMMON_INCIDENT_HISTORY_RARITIES_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/incident_history/index.h"
#include "common/incident_history/tokens.h"

namespace galen::incident_history {

// How rare features are in some indexes together: log(1 + documents / documents with it). A feature
// of no document is as rare as one of a single document. Not thread-safe.
class Rarities {
 public:
  // The indexes must outlive it. Calls `failed` for one that cannot answer; its documents do not
  // count from then on.
  using Failed = std::function<void(const Index& index, const absl::Status& status)>;
  Rarities(absl::Span<const Index* const> indexes, Failed failed);

  // Asks the indexes for features that were not asked for before.
  void Learn(const std::vector<std::uint64_t>& features);
  // The rarity of a feature that was learned.
  double Of(std::uint64_t feature) const;

 private:
  std::vector<const Index*> indexes_;
  const Failed failed_;
  double documents_ = 0;
  absl::flat_hash_map<std::uint64_t, std::uint64_t> frequencies_;
};

// How alike a question and a document really are: the cosine of their words and pairs of
// neighbouring words, weighted by how often (logarithmically) and how rare they are. Exact, where
// the rankings that bring candidates are of one kind each. Immutable.
class Similarity {
 public:
  // The features of the question and of each document must be learned.
  Similarity(const Rarities& rarities, const Analysis& question);

  // 0 to 1.
  double Of(const Analysis& document) const;

 private:
  const Rarities& rarities_;
  absl::flat_hash_map<std::uint64_t, double> question_;
  double norm_ = 0;
};

}  // namespace galen::incident_history

#endif  // COMMON_INCIDENT_HISTORY_RARITIES_H_
