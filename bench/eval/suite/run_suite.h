#ifndef BENCH_EVAL_SUITE_RUN_SUITE_H_
#define BENCH_EVAL_SUITE_RUN_SUITE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/eval/suite/ablation.h"
#include "bench/eval/suite/drafts/description_words.h"
#include "bench/eval/suite/questions.h"
#include "bench/eval/suite/talk/talk_words.h"
#include "common/knowledge/knowledge.h"
#include "common/log_analysis/scan/scanner.h"
#include "common/reasoner/llm/asker.h"

namespace galen::eval {

// One ablation's answers, in the order of the questions.
struct SuiteRun {
  Ablation ablation;
  std::vector<Answer> answers;
};

struct SuiteResult {
  std::vector<Question> questions;
  std::vector<SuiteRun> runs;
};

// The word lists that interpret questions.
struct SuiteWords {
  talk::TalkWords talk;
  drafts::DescriptionWords descriptions;

  // The lists of the suite, with what the talk/ of these directories adds to them. Errors as for
  // phrases::Vocabulary::Load().
  static absl::StatusOr<SuiteWords> Load(std::vector<std::string> directories);
};

// All parts, each part left out alone, and none.
std::vector<Ablation> AllAblations();

// Answers every question in every ablation. Without a model the same questions and knowledge give
// the same result. `on_done` is called after each answer; may be empty. Errors: a choice that the
// taxonomy does not have.
absl::StatusOr<SuiteResult> RunSuite(
    std::vector<Question> questions, const std::shared_ptr<const knowledge::Knowledge>& knowledge,
    const log_scan::Scanner& scanner, const SuiteWords& words,
    std::optional<reasoner::llm::Model> model,
    const std::function<void(std::size_t done, std::size_t all)>& on_done);

}  // namespace galen::eval

#endif  // BENCH_EVAL_SUITE_RUN_SUITE_H_
