#ifndef BENCH_EVAL_SUITE_TALK_SENTENCES_H_
#define BENCH_EVAL_SUITE_TALK_SENTENCES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "bench/eval/suite/talk/talk_words.h"

namespace galen::talk {

// A sentence and its speaker.
struct Sentence {
  std::string text;     // as written, one line
  std::string lower;    // the same in lower case, byte by byte
  std::string speaker;  // "" if the line names none
  bool question = false;
  // Quotes somebody else: a line of a quoted mail, of a block of code or output, or text within
  // quotation marks.
  bool quoted = false;
};

// Limit for the sentences of a talk; later ones are not read.
inline constexpr int kMostSentences = 2000;
// Longer sentences are read up to here.
inline constexpr int kMostSentenceBytes = 2000;

// Splits a talk into lines, speakers ("ana: ...", "[10:02] <bo> ...") and sentences. A quote
// becomes a sentence of its own after the sentence that contains it, where a pair of quotation
// marks remains. "10 dot 0 dot 0 dot 5" is written as "10.0.0.5". Pure.
std::vector<Sentence> SentencesOf(absl::string_view talk, const TalkWords& words);

}  // namespace galen::talk

#endif  // BENCH_EVAL_SUITE_TALK_SENTENCES_H_
