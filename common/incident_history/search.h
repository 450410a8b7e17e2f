#ifndef COMMON_INCIDENT_HISTORY_SEARCH_H_
#define COMMON_INCIDENT_HISTORY_SEARCH_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/incident_history/embedder.h"
#include "common/incident_history/index.h"

namespace galen::incident_history {

// A past incident that resembles a question.
struct Hit {
  Document document;
  double similarity = 0;  // exact cosine of words and pairs, 0 to 1 (rarities.h)
  double cosine = 0;      // of the vectors; 0 when they did not bring it
  double fused = 0;       // by reciprocal rank over words and vectors
};

struct SearchOptions {
  // Hits at most.
  size_t limit = 20;
  // Limit of hits of one label, so that a fault that recurs daily leaves room for others.
  size_t per_label = 8;
};

struct Answer {
  std::vector<Hit> hits;  // most alike first
  // Why the vectors were not searched; the hits are then by words alone.
  absl::Status vectors;
  // Errors of indexes that could not be read: the search left them out, whole or in part.
  std::vector<absl::Status> failed;
};

// A longer question searches its rarest words only.
inline constexpr size_t kMaxQueryWords = 256;

// Searches words (BM25) and vectors (cosine) of each index, fuses both rankings by reciprocal rank
// (Cormack, Clarke and Büttcher, 2009), and orders the best of all indexes by their exact
// similarity. If one label fills both rankings of an index, searches it again for documents of
// other labels. Thread-safe.
Answer Search(absl::Span<const Index* const> indexes, const Embedder& embedder,
              absl::string_view question, const SearchOptions& options = {});

// The different words of a text that a document of the index has, at most kMaxQueryWords, rarest
// first.
absl::StatusOr<std::vector<std::string>> QueryWords(const Index& index, absl::string_view text);

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
