#include "bench/eval/suite/run_suite.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/eval/suite/answer_cause.h"
#include "bench/eval/suite/answer_check.h"
#include "bench/eval/suite/answer_talk.h"
#include "common/base/status_macros.h"
#include "common/phrases/vocabulary.h"

namespace galen::eval {

std::vector<Ablation> AllAblations() {
  return {{"all", true, true, true},
          {"no retrieval", false, true, true},
          {"no diagram", true, false, true},
          {"no self-play", true, true, false},
          {"none", false, false, false}};
}

absl::StatusOr<SuiteWords> SuiteWords::Load(std::vector<std::string> directories) {
  directories.insert(directories.begin(), absl::StrCat(SuiteFolder(), "/knowledge"));
  GALEN_ASSIGN_OR_RETURN(const phrases::Vocabulary vocabulary,
                         phrases::Vocabulary::Load(directories));
  SuiteWords words;
  GALEN_ASSIGN_OR_RETURN(words.talk, talk::TalkWords::From(vocabulary));
  GALEN_ASSIGN_OR_RETURN(words.descriptions, drafts::DescriptionWords::From(vocabulary));
  return words;
}

absl::StatusOr<SuiteResult> RunSuite(
    std::vector<Question> questions, const std::shared_ptr<const knowledge::Knowledge>& knowledge,
    const log_scan::Scanner& scanner, const SuiteWords& words,
    std::optional<reasoner::llm::Model> model,
    const std::function<void(std::size_t done, std::size_t all)>& on_done) {
  SuiteResult result;
  result.questions = std::move(questions);
  // Only where a question needs it: its indexes take a while.
  std::unique_ptr<const CauseAnswerer> causes;
  const std::vector<Ablation> ablations = AllAblations();
  const std::size_t all = ablations.size() * result.questions.size();
  std::size_t done = 0;
  for (const Ablation& ablation : ablations) {
    SuiteRun run;
    run.ablation = ablation;
    for (const Question& question : result.questions) {
      switch (question.metric) {
        case Metric::kTalk:
          run.answers.push_back(AnswerTalk(question, words.talk, ablation));
          break;
        case Metric::kCheck:
          run.answers.push_back(AnswerCheck(question, knowledge, words.descriptions, ablation));
          break;
        case Metric::kCause: {
          if (causes == nullptr)
            causes = std::make_unique<const CauseAnswerer>(knowledge, scanner, model);
          GALEN_ASSIGN_OR_RETURN(Answer answer, causes->Find(question, ablation));
          run.answers.push_back(std::move(answer));
          break;
        }
      }
      if (on_done) on_done(++done, all);
    }
    result.runs.push_back(std::move(run));
  }
  return result;
}

}  // namespace galen::eval
