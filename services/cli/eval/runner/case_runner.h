#ifndef SERVICES_CLI_EVAL_RUNNER_CASE_RUNNER_H_
#define SERVICES_CLI_EVAL_RUNNER_CASE_RUNNER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/knowledge/knowledge.h"
#include "common/logs/scanner.h"
#include "galen/eval/v1/eval.pb.h"

namespace galen::eval {

// Diagnoses cases, each in a mesh of its own whose history holds nothing that would tell the
// answer. Thread-safe.
class CaseRunner {
 public:
  struct Settings {
    std::vector<std::string> knowledge;  // directories; empty: the one that came with the program
    // Take out of the history every incident of the case's own labels too.
    bool hide_labels = false;
  };

  // Loads the knowledge. Its errors are those of knowledge::Load.
  static absl::StatusOr<std::unique_ptr<const CaseRunner>> Create(Settings settings);

  // What came out. A case that cannot be diagnosed says why in `error` and is no failure of the
  // runner. The answer of `a_case` is used to filter the history and for nothing else.
  v1::CaseResult Run(const v1::Case& a_case, const std::string& strategy) const;

  const knowledge::Knowledge& knowledge() const { return *knowledge_; }

 private:
  CaseRunner(Settings settings, std::shared_ptr<const knowledge::Knowledge> knowledge,
             std::shared_ptr<const logs::Scanner> scanner)
      : settings_(std::move(settings)),
        knowledge_(std::move(knowledge)),
        scanner_(std::move(scanner)) {}

  absl::StatusOr<v1::CaseResult> TryRun(const v1::Case& a_case, const std::string& strategy) const;

  const Settings settings_;
  const std::shared_ptr<const knowledge::Knowledge> knowledge_;
  const std::shared_ptr<const logs::Scanner> scanner_;
};

}  // namespace galen::eval

#endif  // SERVICES_CLI_EVAL_RUNNER_CASE_RUNNER_H_
