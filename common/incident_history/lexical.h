#ifndef COMMON_INCIDENT_HISTORY_LEXICAL_H_
#define COMMON_INCIDENT_HISTORY_LEXICAL_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/incident_history/view.h"

namespace galen::incident_history {

// The usual constants of BM25 (Robertson and Zaragoza, "The probabilistic relevance framework",
// 2009).
inline constexpr double kBm25Saturation = 1.2;
inline constexpr double kBm25Length = 0.75;
// A longer question searches its rarest words only.
inline constexpr size_t kMaxQueryTerms = 256;

struct QueryTerm {
  std::uint64_t hash = 0;
  double weight = 0;  // its inverse document frequency in the view, above 0
};

// The different words of `text` that a document of the view has, rarest first. Recent documents
// count.
std::vector<QueryTerm> QueryTerms(const View& view, absl::string_view text);

// The `most` documents that BM25 ranks highest, best first; none of label `without` unless that is
// empty. Exactly those of a full evaluation, up to float rounding: lists that cannot lift a
// document into the best are read only for documents that can still get there (MaxScore, Turtle and
// Flood 1995, a range of documents at a time).
std::vector<Scored> SearchWords(const View& view, const std::vector<QueryTerm>& terms, size_t most,
                                absl::string_view without = "");

}  // namespace galen::incident_history

#endif  // COMMON_INCIDENT_HISTORY_LEXICAL_H_
