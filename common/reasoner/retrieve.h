#ifndef COMMON_REASONER_RETRIEVE_H_
#define COMMON_REASONER_RETRIEVE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/knowledge/knowledge.h"
#include "galen/reasoner/v1/reasoner.pb.h"

namespace galen::reasoner {

// The words of a text for retrieval: lower case; letters, digits, '_' and '.' inside a word belong
// to it; numbers of more than four digits, hexadecimal addresses and words of one letter say
// nothing of a cause and go. At most 20,000 words. Pure.
std::vector<std::string> Tokens(absl::string_view text);

// A past incident that resembles a query.
struct Similar {
  size_t incident = 0;    // index into the incidents
  double fused = 0;       // by reciprocal rank over both rankings, for the order
  double similarity = 0;  // cosine of the weighted words, 0 to 1
};

// Past incidents, found by words (BM25) and by vectors (hashed words and pairs of words, cosine),
// fused by reciprocal rank. Immutable and thread-safe.
class HistoryIndex {
 public:
  // Indexes title, description, logs and environment of each incident. Nothing is kept of
  // `incidents` beyond the call.
  explicit HistoryIndex(absl::Span<const knowledge::v1::PastIncident* const> incidents);

  // The incidents that share a word with `query`, best first, at most `limit`.
  std::vector<Similar> Search(absl::string_view query, size_t limit) const;

 private:
  struct Posting {
    std::uint32_t incident;
    std::uint32_t count;
  };
  // Sparse, sorted by dimension, of length 1.
  using Vector = std::vector<std::pair<std::uint32_t, float>>;

  Vector Embed(const std::vector<std::string>& tokens) const;

  absl::flat_hash_map<std::string, std::vector<Posting>> postings_;
  absl::flat_hash_map<std::uint32_t, float> rarity_;  // of a dimension
  std::vector<Vector> vectors_;
  std::vector<double> lengths_;
  double mean_length_ = 1;
};

// The text that stands for an incident in a query: its description, and what its signals say.
std::string QueryText(const galen::v1::Incident& incident, const galen::v1::EvidenceSet& evidence);

// The most likely distinct causes among similar past incidents: at most `question.max_causes()`,
// each above a floor of similarity, weighed up by signals that speak for its label. Empty when
// nothing is similar enough. Pure.
v1::HistoryAnswer ProposeCauses(const knowledge::Knowledge& knowledge, const HistoryIndex& index,
                                const v1::HistoryQuestion& question);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_RETRIEVE_H_
