#ifndef BENCH_EVAL_SUITE_ANSWER_TALK_H_
#define BENCH_EVAL_SUITE_ANSWER_TALK_H_

#include "bench/eval/suite/ablation.h"
#include "bench/eval/suite/questions.h"
#include "bench/eval/suite/talk/talk_words.h"

namespace galen::eval {

// Metric A by suite/talk: right when exactly the targets, each with its port, and whether to go on
// are what the answer says. Pure.
Answer AnswerTalk(const Question& question, const talk::TalkWords& words, const Ablation& ablation);

}  // namespace galen::eval

#endif  // BENCH_EVAL_SUITE_ANSWER_TALK_H_
