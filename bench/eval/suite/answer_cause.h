#ifndef BENCH_EVAL_SUITE_ANSWER_CAUSE_H_
#define BENCH_EVAL_SUITE_ANSWER_CAUSE_H_

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "bench/eval/suite/ablation.h"
#include "bench/eval/suite/questions.h"
#include "common/knowledge/knowledge.h"
#include "common/log_analysis/scan/scanner.h"
#include "common/reasoner/builtin_reasoner.h"
#include "common/reasoner/llm/asker.h"
#include "common/reasoner/llm/llm_reasoner.h"

namespace galen::eval {

// Metric C: which of the offered labels is the cause, by the summary of the texts, the order of
// search and similar past incidents. If a model is given and asked, its first cause counts.
// Thread-safe.
class CauseAnswerer {
 public:
  // All must outlive it; `model` may be nothing.
  CauseAnswerer(std::shared_ptr<const knowledge::Knowledge> knowledge,
                const log_scan::Scanner& scanner, std::optional<reasoner::llm::Model> model);

  // INVALID_ARGUMENT: a choice is not a leaf of the taxonomy.
  absl::StatusOr<Answer> Find(const Question& question, const Ablation& ablation) const;

 private:
  const std::shared_ptr<const knowledge::Knowledge> knowledge_;
  const log_scan::Scanner& scanner_;
  const std::optional<reasoner::llm::Model> model_;
  const reasoner::BuiltinReasoner rules_;
  // The same without past incidents.
  const std::unique_ptr<const knowledge::Knowledge> bare_;
  const reasoner::BuiltinReasoner bare_rules_;
};

}  // namespace galen::eval

#endif  // BENCH_EVAL_SUITE_ANSWER_CAUSE_H_
