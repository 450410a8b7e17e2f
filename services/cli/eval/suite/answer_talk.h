#ifndef SERVICES_CLI_EVAL_SUITE_ANSWER_TALK_H_
#define SERVICES_CLI_EVAL_SUITE_ANSWER_TALK_H_

#include "common/talk/talk_words.h"
#include "services/cli/eval/suite/ablation.h"
#include "services/cli/eval/suite/questions.h"

namespace galen::eval {

// Metric A by common/talk: right when exactly the targets, each with its port, and whether to go on
// are what the answer says. Pure.
Answer AnswerTalk(const Question& question, const talk::TalkWords& words, const Ablation& ablation);

}  // namespace galen::eval

#endif  // SERVICES_CLI_EVAL_SUITE_ANSWER_TALK_H_
