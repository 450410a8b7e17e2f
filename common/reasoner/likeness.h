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

// How much a text speaks for a leaf, or against it.
struct Like {
  // The natural logarithm of how many times likelier the leaf is by the text alone; below 0 where
  // the text makes it less likely.
  double weight = 0;
  // The sentence of the leaf that is most like the text, where that speaks for it.
  std::string told;
};

// Leaves by what a text says of them; empty where no word of it is known.
using Likeness = absl::flat_hash_map<std::string, Like>;

// The leaves of the taxonomy by what is written of them: title, description, symptoms, what their
// signals for descriptions mean, and how people complain of them; as a whole and sentence by
// sentence. Thread-safe.
class LikenessIndex {
 public:
  // Nothing is kept of `knowledge` beyond the call.
  explicit LikenessIndex(const knowledge::Knowledge& knowledge);

  // What the words of people say of each leaf; where they say little more than that something
  // failed, `messages` (lines of logs that hold a known message) count for half. Never null.
  std::shared_ptr<const Likeness> Of(absl::string_view words, absl::string_view messages) const;
  // The leaves that a text speaks for, the likeliest first, at most `most`.
  std::vector<std::string> MostLike(absl::string_view text, std::size_t most) const;

 private:
  Likeness Weigh(absl::string_view words, absl::string_view messages) const;
  Likeness Weigh(absl::string_view text) const;

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
