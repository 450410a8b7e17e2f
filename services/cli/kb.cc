#include "services/cli/kb.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "common/knowledge/load.h"

namespace galen::cli {

ExitCode LintKnowledge(const std::vector<std::string>& directories, Console& console) {
  const absl::StatusOr<std::vector<std::string>> found = knowledge::FindDirectories(directories);
  if (!found.ok()) {
    console.err << "galen: " << found.status().message() << std::endl;
    return ExitCodeOf(found.status());
  }
  std::vector<knowledge::Problem> problems;
  const absl::StatusOr<knowledge::v1::KnowledgeBase> base = knowledge::Parse(*found, problems);
  if (!base.ok()) {
    console.err << "galen: " << base.status().message() << std::endl;
    return ExitCodeOf(base.status());
  }
  for (knowledge::Problem& problem : knowledge::Lint(*base)) problems.push_back(std::move(problem));
  std::stable_sort(problems.begin(), problems.end(), [](const auto& a, const auto& b) {
    return std::tie(a.file, a.line) < std::tie(b.file, b.line);
  });
  int errors = 0;
  for (const knowledge::Problem& problem : problems) {
    const bool error = problem.severity == knowledge::Problem::Severity::kError;
    errors += error;
    console.out << Paint(console.terminal, error ? Colour::kRed : Colour::kYellow,
                         knowledge::ToString(problem))
                << '\n';
  }
  console.out << base->labels_size() << " labels, " << base->checks_size() << " checks, "
              << base->signals_size() << " signals, " << base->incidents_size()
              << " past incidents, " << base->error_codes_size() << " error codes, "
              << base->hardware_size() << " hardware models: " << errors << " errors, "
              << problems.size() - static_cast<std::size_t>(errors) << " warnings" << std::endl;
  return errors == 0 ? kOk : kBadInput;
}

}  // namespace galen::cli
