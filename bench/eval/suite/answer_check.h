#ifndef BENCH_EVAL_SUITE_ANSWER_CHECK_H_
#define BENCH_EVAL_SUITE_ANSWER_CHECK_H_

#include <memory>

#include "bench/eval/suite/ablation.h"
#include "bench/eval/suite/drafts/description_words.h"
#include "bench/eval/suite/questions.h"
#include "common/knowledge/knowledge.h"

namespace galen::eval {

// Metric B: drafts a check of the description and what one host showed (suite/drafts), holds it
// against lint, and runs it on every host, the hidden ones too, as a node executor would. Right
// when every host comes out as it is: PASS, FAIL, or neither where nothing can be told. Where a
// check of the catalogue is meant, it is right when that is called, with the parameters that were
// said.
Answer AnswerCheck(const Question& question,
                   const std::shared_ptr<const knowledge::Knowledge>& knowledge,
                   const drafts::DescriptionWords& words, const Ablation& ablation);

}  // namespace galen::eval

#endif  // BENCH_EVAL_SUITE_ANSWER_CHECK_H_
