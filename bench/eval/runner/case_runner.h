#ifndef BENCH_EVAL_RUNNER_CASE_RUNNER_H_
#define BENCH_EVAL_RUNNER_CASE_RUNNER_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/eval/runner/mode.h"
#include "common/intake/kinds.h"
#include "common/knowledge/knowledge.h"
#include "common/log_analysis/scan/scanner.h"
#include "common/phrases/outcome.h"
#include "common/reasoner/llm/asker.h"
#include "galen/eval/v1/eval.pb.h"

namespace galen::eval {

// Diagnoses cases, each in a mesh of its own whose history does not reveal the answer. Thread-safe.
class CaseRunner {
 public:
  // Loads the knowledge of these directories; without directories, the knowledge that came with the
  // program. The errors are those of knowledge::Load. The objects that `model` points to must
  // outlive the runner.
  static absl::StatusOr<std::unique_ptr<const CaseRunner>> Create(
      const std::vector<std::string>& knowledge_directories,
      std::optional<reasoner::llm::Model> model = std::nullopt);

  // The result of the case. If a case cannot be diagnosed, `error` says why; this is not a failure
  // of the runner. The answer of `a_case` only serves to remove texts that would reveal it.
  v1::CaseResult Run(const v1::Case& a_case, const std::string& strategy, Mode mode) const;

  // Covers everything that a result of the case depends on: the knowledge, the program, the case
  // and its bundle. A result with another key is stale.
  std::string KeyOf(const v1::Case& a_case) const;

  const knowledge::Knowledge& knowledge() const { return *knowledge_; }

 private:
  CaseRunner(std::vector<std::string> directories,
             std::shared_ptr<const knowledge::Knowledge> knowledge,
             std::shared_ptr<const log_scan::Scanner> scanner,
             std::shared_ptr<const intake::Kinds> kinds,
             std::shared_ptr<const phrases::OutcomeWords> words,
             std::optional<reasoner::llm::Model> model)
      : directories_(std::move(directories)),
        knowledge_(std::move(knowledge)),
        scanner_(std::move(scanner)),
        kinds_(std::move(kinds)),
        words_(std::move(words)),
        model_(model) {}

  absl::StatusOr<v1::CaseResult> TryRun(const v1::Case& a_case, const std::string& strategy,
                                        Mode mode) const;

  const std::vector<std::string> directories_;
  const std::shared_ptr<const knowledge::Knowledge> knowledge_;
  const std::shared_ptr<const log_scan::Scanner> scanner_;
  const std::shared_ptr<const intake::Kinds> kinds_;
  const std::shared_ptr<const phrases::OutcomeWords> words_;
  const std::optional<reasoner::llm::Model> model_;
};

}  // namespace galen::eval

#endif  // BENCH_EVAL_RUNNER_CASE_RUNNER_H_
