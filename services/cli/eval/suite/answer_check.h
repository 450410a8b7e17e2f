#ifndef SERVICES_CLI_EVAL_SUITE_ANSWER_CHECK_H_
#define SERVICES_CLI_EVAL_SUITE_ANSWER_CHECK_H_

#include <memory>

#include "common/curation/description_words.h"
#include "common/knowledge/knowledge.h"
#include "services/cli/eval/suite/ablation.h"
#include "services/cli/eval/suite/questions.h"

namespace galen::eval {

// Metric B: drafts a check of the description and what one host showed (common/curation), holds it
// against lint, and runs it on every host, the hidden ones too, as a node executor would. Right
// when every host comes out as it is: PASS, FAIL, or neither where nothing can be told. Where a
// check of the catalogue is meant, it is right when that is called, with the parameters that were
// said.
Answer AnswerCheck(const Question& question,
                   const std::shared_ptr<const knowledge::Knowledge>& knowledge,
                   const curation::DescriptionWords& words, const Ablation& ablation);

}  // namespace galen::eval

#endif  // SERVICES_CLI_EVAL_SUITE_ANSWER_CHECK_H_
