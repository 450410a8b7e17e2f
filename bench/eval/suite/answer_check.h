#ifndef BENCH_EVAL_SUITE_ANSWER_CHECK_H_
#define BENCH_EVAL_SUITE_ANSWER_CHECK_H_

#include <memory>

#include "bench/eval/suite/ablation.h"
#include "bench/eval/suite/drafts/description_words.h"
#include "bench/eval/suite/questions.h"
#include "common/knowledge/knowledge.h"

namespace galen::eval {

// Metric B: drafts a check from the description and the output of one host (suite/drafts), lints
// it, and runs it on every host, including the hidden ones, as a node executor would. It is right
// if every host gets its status: PASS, FAIL, or neither if the status is unknown. If the
// description means a check of the catalogue, a call of this check with the given parameters is
// right.
Answer AnswerCheck(const Question& question,
                   const std::shared_ptr<const knowledge::Knowledge>& knowledge,
                   const drafts::DescriptionWords& words, const Ablation& ablation);

}  // namespace galen::eval

#endif  // BENCH_EVAL_SUITE_ANSWER_CHECK_H_
