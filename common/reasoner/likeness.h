#ifndef COMMON_REASONER_LIKENESS_H_
#define COMMON_REASONER_LIKENESS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "common/base/mutex.h"
#include "common/knowledge/knowledge.h"
#include "common/retrieval/search.h"

namespace galen::reasoner {

// The leaves of the taxonomy by what is written of them: title, description, symptoms, what their
// signals mean. Found by words and by vectors, as past incidents are. Thread-safe.
class LikenessIndex {
 public:
  // Indexes the leaves in memory; nothing is kept of `knowledge` beyond the call.
  explicit LikenessIndex(const knowledge::Knowledge& knowledge);

  // Labels of the leaves whose description is most like `text`, best first, at most `limit`.
  std::vector<std::string> Nearest(absl::string_view text, size_t limit) const;

 private:
  std::vector<std::string> Search(absl::string_view text, size_t limit) const;

  const retrieval::HashedEmbedder embedder_;
  retrieval::View leaves_;
  // A diagnosis asks for the same text at each of its steps.
  mutable Mutex mu_;
  mutable absl::flat_hash_map<std::pair<std::string, size_t>, std::vector<std::string>> answers_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_LIKENESS_H_
