#include "bench/eval/suite_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bench/eval/report/table.h"
#include "bench/eval/suite/questions.h"
#include "bench/eval/suite/run_suite.h"
#include "bench/eval/suite/suite_report.h"
#include "common/base/status_macros.h"
#include "common/knowledge/load.h"
#include "common/reasoner/llm/open_model.h"
#include "services/cli/llm/draft_model.h"
#include "services/cli/local_mesh.h"

namespace galen::eval {
namespace {

absl::Status Suite(const EvalArguments& arguments, cli::Console& console) {
  if (!arguments.cases.empty()) {
    return absl::InvalidArgumentError("--suite: asks its own questions; leave --cases out");
  }
  if (arguments.llm_draft && !arguments.llm.empty()) {
    return absl::InvalidArgumentError("--llm-draft: answers in place of --llm; give one of them");
  }
  const std::string path =
      arguments.questions.empty() ? absl::StrCat(SuiteFolder(), "/questions") : arguments.questions;
  GALEN_ASSIGN_OR_RETURN(std::vector<Question> questions, ReadQuestions(path));
  if (!arguments.metrics.empty()) {
    questions.erase(
        std::remove_if(questions.begin(), questions.end(),
                       [&](const Question& question) {
                         return std::find(arguments.metrics.begin(), arguments.metrics.end(),
                                          MetricName(question.metric)) == arguments.metrics.end();
                       }),
        questions.end());
  }
  if (!arguments.only.empty()) {
    for (const std::string& id : arguments.only) {
      const bool known = std::any_of(questions.begin(), questions.end(),
                                     [&](const Question& question) { return question.id == id; });
      if (!known)
        return absl::NotFoundError(absl::StrCat("--case ", id, ": no question has this id"));
    }
    questions.erase(std::remove_if(questions.begin(), questions.end(),
                                   [&](const Question& question) {
                                     return std::find(arguments.only.begin(), arguments.only.end(),
                                                      question.id) == arguments.only.end();
                                   }),
                    questions.end());
  }
  GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const knowledge::Knowledge> knowledge,
                         cli::LoadKnowledge(arguments.knowledge));
  GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const log_scan::Scanner> scanner,
                         cli::CompileScanner(*knowledge));
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> directories,
                         knowledge::FindDirectories(arguments.knowledge));
  GALEN_ASSIGN_OR_RETURN(const SuiteWords words, SuiteWords::Load(directories));
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<reasoner::llm::OpenedModel> opened,
                         reasoner::llm::OpenedModel::Open(arguments.llm, arguments.llm_cache));
  cli::DraftModel draft;
  std::optional<reasoner::llm::Model> model = reasoner::llm::ModelOf(opened.get());
  if (arguments.llm_draft) model = reasoner::llm::Model{.client = &draft};
  const auto on_done = [&](std::size_t done, std::size_t all) {
    if (!console.terminal.interactive) return;
    console.err << "\r\x1b[2K" << done << " of " << all << " answers"
                << (done == all ? "\r\x1b[2K" : "") << std::flush;
  };
  GALEN_ASSIGN_OR_RETURN(const SuiteResult result, RunSuite(std::move(questions), knowledge,
                                                            *scanner, words, model, on_done));
  if (arguments.json) {
    const std::string name =
        model.has_value()
            ? absl::StrCat(model->client->name(), " ", model->client->SettingsOf("presume").model)
            : "";
    console.out << SuiteJson(result, path, knowledge->digest(), name) << std::endl;
    return absl::OkStatus();
  }
  for (const Table& table : SuiteTables(result)) console.out << TableText(table) << '\n';
  if (arguments.failures) console.out << DevFailures(result) << '\n';
  console.out << "questions " << path << ", knowledge " << knowledge->digest() << std::endl;
  return absl::OkStatus();
}

}  // namespace

void DeclareSuite(CLI::App& eval, EvalArguments& arguments) {
  eval.add_flag("--suite", arguments.suite,
                "Evaluate questions of three kinds instead of a corpus, with parts of the method "
                "left out (bench/eval/suite/README.md)");
  eval.add_option("--questions", arguments.questions,
                  "Questions of the suite; default: those of the source tree")
      ->type_name("FILE|DIR");
  eval.add_option("--metric", arguments.metrics,
                  "Parts of the suite: A talk, B checks, C causes; default: all")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"A", "B", "C"}));
}

cli::ExitCode RunSuiteCommand(const EvalArguments& arguments, cli::Console& console) {
  const absl::Status status = Suite(arguments, console);
  if (!status.ok()) console.err << "galen-eval: " << status.message() << std::endl;
  return cli::ExitCodeOf(status);
}

}  // namespace galen::eval
