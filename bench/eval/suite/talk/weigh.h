#ifndef BENCH_EVAL_SUITE_TALK_WEIGH_H_
#define BENCH_EVAL_SUITE_TALK_WEIGH_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "bench/eval/suite/talk/addresses.h"
#include "bench/eval/suite/talk/talk_words.h"

namespace galen::talk {

// Reasons why a machine is not a target, in words.
inline constexpr char kLeftAlone[] = "is to be left alone";

// Whether an address of a sentence is a target.
struct Verdict {
  bool in = true;
  std::string why;  // not in
};

// Weighs each address of a sentence by the words around it: denied, corrected, another thing's. One
// verdict for each mention. `lower` is the sentence in lower case, `mentions` in its order. Pure.
std::vector<Verdict> Weigh(absl::string_view lower, const std::vector<Mention>& mentions,
                           const TalkWords& words);

// Whether the mention at `i` continues the list of the one before it. Pure.
bool IsListed(absl::string_view lower, const std::vector<Mention>& mentions, std::size_t i,
              const TalkWords& words);

}  // namespace galen::talk

#endif  // BENCH_EVAL_SUITE_TALK_WEIGH_H_
