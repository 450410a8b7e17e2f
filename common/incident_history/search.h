#ifndef COMMON_INCIDENT_HISTORY_SEARCH_H_
#define COMMON_INCIDENT_HISTORY_SEARCH_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/incident_history/dense.h"
#include "common/incident_history/embedder.h"
#include "common/incident_history/view.h"

namespace galen::incident_history {

// A past incident that resembles a question.
struct Hit {
  Document document;
  double similarity = 0;  // exact cosine of words and pairs, 0 to 1 (rerank.h)
  double cosine = 0;      // of the vectors; 0 when they did not bring it
  double fused = 0;       // by reciprocal rank over words and vectors
};

struct SearchOptions {
  // Hits at most.
  size_t limit = 20;
  // Limit of hits of one label, so that a fault that recurs daily leaves room for others.
  size_t per_label = 8;
  DenseOptions dense;
};

struct Answer {
  std::vector<Hit> hits;  // most alike first
  // Why the vectors were not searched; the hits are then by words alone.
  absl::Status vectors;
  // Damaged parts of the index, which the search left out.
  std::vector<std::string> damaged;
};

// Searches words (BM25) and vectors (cosine), fuses both rankings by reciprocal rank (Cormack,
// Clarke and Büttcher, 2009), and orders the best by their exact similarity. If one label fills
// both rankings, searches again for documents of other labels. Thread-safe.
Answer Search(const View& view, const Embedder& embedder, absl::string_view question,
              const SearchOptions& options = {});

// Rankings fused: each document scores the sum of 1 / (60 + its rank, from 1). Best first; scores
// of the rankings do not matter. Pure.
std::vector<Scored> Fuse(absl::Span<const std::vector<Scored>> rankings);

// Causes of hits, each once.
struct Cause {
  std::string label;
  double score = 0;          // what its hits come to, the best one in full
  std::vector<size_t> hits;  // numbers of hits, most alike first; not empty
};

// Groups hits of at least `floor` similarity by label: each further hit of a label counts half of
// the one before. Highest score first. Pure.
std::vector<Cause> DistinctCauses(absl::Span<const Hit> hits, double floor);

}  // namespace galen::incident_history

#endif  // COMMON_INCIDENT_HISTORY_SEARCH_H_
