#ifndef COMMON_INCIDENT_HISTORY_WORD_INDEX_H_
#define COMMON_INCIDENT_HISTORY_WORD_INDEX_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace galen::incident_history {

// BM25 over short texts that are kept in memory, each known by the hashes of its words. Immutable
// once it is made; thread-safe.
class WordIndex {
 public:
  // One list of words for each text; words may repeat.
  explicit WordIndex(absl::Span<const std::vector<std::uint64_t>> texts);
  WordIndex() = default;

  // The score of each text for the different words of a question, in the order of the texts; 0 for
  // a text without any of them.
  std::vector<double> Scores(std::vector<std::uint64_t> words) const;

  // How many different words of the question some text has.
  int Known(std::vector<std::uint64_t> words) const;

 private:
  // A word of a text, with what it adds to the score.
  struct Posting {
    std::uint64_t word = 0;
    std::uint32_t text = 0;
    float weight = 0;
  };

  absl::Span<const Posting> Of(std::uint64_t word) const;

  std::vector<Posting> postings_;  // by rising word
  std::size_t texts_ = 0;
};

}  // namespace galen::incident_history

#endif  // COMMON_INCIDENT_HISTORY_WORD_INDEX_H_
