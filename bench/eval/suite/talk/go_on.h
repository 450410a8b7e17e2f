#ifndef BENCH_EVAL_SUITE_TALK_GO_ON_H_
#define BENCH_EVAL_SUITE_TALK_GO_ON_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "bench/eval/suite/talk/sentences.h"
#include "bench/eval/suite/talk/talk_words.h"

namespace galen::talk {

// Whether the speaker wants the work to go on.
enum class GoOn {
  kUnsaid,
  kYes,
  kNo,  // also: not yet, or only once something has happened
};

struct GoOnSaid {
  GoOn go_on = GoOn::kUnsaid;
  std::string sentence;  // the deciding sentence, as written; "" if there is none
};

// The decision in the last sentence that contains one. With `weigh`, questions, quoted words,
// reports about others and orders about other things ("stop the job") are ignored, an open
// condition is a no, and a bare "yes" answers the question before it; without it, each sentence
// with one of the words counts. Pure.
GoOnSaid WhetherToGoOn(absl::Span<const Sentence> sentences, const TalkWords& words, bool weigh);

}  // namespace galen::talk

#endif  // BENCH_EVAL_SUITE_TALK_GO_ON_H_
