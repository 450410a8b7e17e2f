#ifndef COMMON_TALK_OUTCOME_H_
#define COMMON_TALK_OUTCOME_H_

#include <cstddef>

#include "absl/strings/string_view.h"
#include "common/talk/talk_words.h"

namespace galen::talk {

// What came of a change.
enum class Outcome {
  kUnknown,  // the words do not tell, or nobody tried it yet
  kWorks,    // with it the fault is gone
  kFails,    // with it the fault is there, or still there
};

// So many bytes before and behind a mention are read.
inline constexpr std::size_t kOutcomeReach = 600;

// What `text` tells of the thing whose mention ends at byte `end`: in the clause of the mention, in
// the clauses of its sentence behind it, in those before it, or in a short sentence that follows
// and refers to it. "Without it the job hangs" tells that it works. A question tells nothing. Pure.
Outcome OutcomeOf(absl::string_view text, std::size_t end, const TalkWords& words);

// The name that ends at byte `end`, with what belongs to it: "2.19.1" of "NCCL 2.19.1-1 hangs"
// where `end` is behind "2.19". Never empty where `end` is behind a letter or digit. Pure.
absl::string_view NameAt(absl::string_view text, std::size_t end);

}  // namespace galen::talk

#endif  // COMMON_TALK_OUTCOME_H_
