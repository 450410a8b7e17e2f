#ifndef BENCH_EVAL_SUITE_TALK_SENTENCES_H_
#define BENCH_EVAL_SUITE_TALK_SENTENCES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "bench/eval/suite/talk/talk_words.h"

namespace galen::talk {

// A sentence as somebody said it.
struct Sentence {
  std::string text;     // as written, one line
  std::string lower;    // the same in lower case, byte by byte
  std::string speaker;  // "" where the line names none
  bool question = false;
  // It is somebody else's words: a line of a quoted mail, of a block of code or output, or what
  // stands within quotation marks.
  bool quoted = false;
};

// A talk holds so many sentences at most; what comes later is not read.
inline constexpr int kMostSentences = 2000;
// Nor is what goes on beyond so many bytes of one sentence.
inline constexpr int kMostSentenceBytes = 2000;

// Cuts a talk apart: lines, speakers ("ana: ...", "[10:02] <bo> ..."), sentences. What a sentence
// quotes is a sentence of its own behind it, and a pair of quotation marks stands in its place.
// "10 dot 0 dot 0 dot 5" is written as "10.0.0.5". Pure.
std::vector<Sentence> SentencesOf(absl::string_view talk, const TalkWords& words);

}  // namespace galen::talk

#endif  // BENCH_EVAL_SUITE_TALK_SENTENCES_H_
