#ifndef BENCH_EVAL_SUITE_TALK_LOOK_BACK_H_
#define BENCH_EVAL_SUITE_TALK_LOOK_BACK_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "bench/eval/suite/talk/gathered.h"
#include "bench/eval/suite/talk/ports.h"
#include "bench/eval/suite/talk/talk.h"
#include "bench/eval/suite/talk/talk_words.h"

namespace galen::talk {

// The second pass: statements of a sentence without an address about machines that were named
// before it. "Skip the second one", "the broken one is the first", "2222 for both". Pure.
void LookBack(absl::string_view lower, const std::vector<PortMention>& ports,
              const TalkWords& words, const Reading& reading, Gathered& found);

// The sentence corrects an earlier statement. Pure.
bool IsCorrection(absl::string_view lower, const TalkWords& words);

}  // namespace galen::talk

#endif  // BENCH_EVAL_SUITE_TALK_LOOK_BACK_H_
