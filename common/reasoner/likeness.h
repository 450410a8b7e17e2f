#ifndef COMMON_REASONER_LIKENESS_H_
#define COMMON_REASONER_LIKENESS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "common/base/mutex.h"
#include "common/incident_history/word_index.h"
#include "common/knowledge/knowledge.h"

namespace galen::reasoner {

// How much a text supports or opposes a leaf.
struct Like {
  // Natural logarithm of the factor by which the text alone changes the odds of the leaf; below 0:
  // less likely.
  double weight = 0;
  // The sentence of the leaf that is most like the text, if it supports the leaf.
  std::string told;
};

// Likeness of a text by leaf, and to reports when nothing is wrong (knowledge::kNothingWrong);
// empty: none of its words is known.
using Likeness = absl::flat_hash_map<std::string, Like>;

// An index of the leaves' texts: title, description, symptoms, meanings of their signals for
// descriptions, and complaints; as a whole and by sentence. Thread-safe.
class LikenessIndex {
 public:
  // `knowledge` is used only during the call.
  explicit LikenessIndex(const knowledge::Knowledge& knowledge);

  // The likeness of people's words to each leaf; if they say little more than that something
  // failed, `messages` (lines of logs with a known message) count for half. Never null.
  std::shared_ptr<const Likeness> Of(absl::string_view words, absl::string_view messages) const;
  // The leaves that a text supports, the likeliest first, at most `most`.
  std::vector<std::string> MostLike(absl::string_view text, std::size_t most) const;

 private:
  Likeness Weigh(absl::string_view words, absl::string_view messages) const;
  Likeness WeighText(absl::string_view text, absl::string_view title) const;
  // The sentences of a leaf that are nearest to a text.
  struct Nearest {
    double score = 0;          // of the best ones together
    std::size_t sentence = 0;  // the best one, in told_; valid if the score is above 0
  };
  std::vector<Nearest> NearestSentences(absl::string_view text) const;  // in the order of leaves_

  std::vector<std::string> leaves_;
  incident_history::WordIndex wholes_;  // in the order of leaves_
  incident_history::WordIndex sentences_;
  struct Sentence {
    std::size_t leaf = 0;
    std::string text;
  };
  std::vector<Sentence> told_;  // in the order of sentences_
  // A diagnosis asks for the same text at each of its steps.
  mutable Mutex mu_;
  mutable absl::flat_hash_map<std::string, std::shared_ptr<const Likeness>> answers_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_LIKENESS_H_
