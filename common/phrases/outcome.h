#ifndef COMMON_PHRASES_OUTCOME_H_
#define COMMON_PHRASES_OUTCOME_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/phrases/phrases.h"
#include "common/phrases/vocabulary.h"

namespace galen::phrases {

// The lists of knowledge/talk by which outcomes are understood; each says there why it is there.
// They are applied to texts in lower case. A value, immutable once made; thread-safe.
struct OutcomeWords {
  // INVALID_ARGUMENT: the vocabulary lacks a list.
  static absl::StatusOr<OutcomeWords> From(const Vocabulary& vocabulary);
  // Those of the knowledge directories; null if none of them has any. Other errors as for
  // Vocabulary::Load().
  static absl::StatusOr<std::shared_ptr<const OutcomeWords>> Load(
      const std::vector<std::string>& directories);

  Phrases not_tried;
  Phrases in_vain;
  Phrases put_right;
  Phrases no_failure;
  Phrases went_wrong;
  Phrases came_right;
  Phrases turn;
  Phrases without;
  Phrases refers_back;
  Phrases either_way;
  Phrases abbreviation;
};

// The effect of a change.
enum class Outcome {
  kUnknown,  // the words do not tell, or nobody tried it yet
  kWorks,    // with it the fault is gone
  kFails,    // with it the fault is there, or still there
};

// So many bytes before and behind a mention are read.
inline constexpr std::size_t kOutcomeReach = 600;

// The outcome of the change that `text` names in the words before byte `end`: by the clause of
// these words, the clauses of the sentence behind it, those before it, or a short sentence that
// follows and refers to it. "Without it the job hangs" means that it works. A question means
// nothing. Pure.
Outcome OutcomeOf(absl::string_view text, std::size_t end, const OutcomeWords& words);

// The name that ends at byte `end`, with its suffix: "2.19.1" of "NCCL 2.19.1-1 hangs" where `end`
// is behind "2.19". Never empty where `end` is behind a letter or digit. Pure.
absl::string_view NameAt(absl::string_view text, std::size_t end);

}  // namespace galen::phrases

#endif  // COMMON_PHRASES_OUTCOME_H_
