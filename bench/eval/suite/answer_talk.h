#ifndef BENCH_EVAL_SUITE_ANSWER_TALK_H_
#define BENCH_EVAL_SUITE_ANSWER_TALK_H_

#include "bench/eval/suite/ablation.h"
#include "bench/eval/suite/questions.h"
#include "bench/eval/suite/talk/talk_words.h"

namespace galen::eval {

// Metric A by suite/talk: right if exactly the targets, each with its port, and the decision to go
// on match the answer. Pure.
Answer AnswerTalk(const Question& question, const talk::TalkWords& words, const Ablation& ablation);

}  // namespace galen::eval

#endif  // BENCH_EVAL_SUITE_ANSWER_TALK_H_
