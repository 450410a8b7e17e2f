#include "services/cli/eval/eval_command.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/mutex.h"
#include "services/cli/eval/corpus/corpus.h"
#include "services/cli/eval/metrics/score.h"
#include "services/cli/eval/report/failures.h"
#include "services/cli/eval/runner/case_runner.h"
#include "services/orchestrator/strategy.h"

namespace galen::eval {
namespace {

absl::StatusOr<std::vector<std::string>> ChooseStrategies(const std::vector<std::string>& wanted) {
  const std::vector<std::string> known = orchestrator::StrategyNames();
  if (wanted.empty()) return std::vector<std::string>{std::string(orchestrator::kDefaultStrategy)};
  std::vector<std::string> chosen;
  for (const std::string& name : wanted) {
    if (name == "all") return known;
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return absl::InvalidArgumentError(absl::StrCat("--strategy ", name, ": there is none; use ",
                                                     absl::StrJoin(known, ", "), " or all"));
    }
    if (std::find(chosen.begin(), chosen.end(), name) == chosen.end()) chosen.push_back(name);
  }
  return chosen;
}

// Keeps the cases that are wanted.
absl::Status Narrow(const std::vector<std::string>& only, Corpus& corpus) {
  if (only.empty()) return absl::OkStatus();
  std::vector<v1::Case> kept;
  for (const std::string& id : only) {
    const auto found = std::find_if(corpus.cases.begin(), corpus.cases.end(),
                                    [&](const v1::Case& a_case) { return a_case.id() == id; });
    if (found == corpus.cases.end()) {
      return absl::NotFoundError(absl::StrCat("--case ", id, ": not in answers.jsonl"));
    }
    kept.push_back(*found);
  }
  corpus.cases = std::move(kept);
  return absl::OkStatus();
}

}  // namespace

CLI::App* DeclareEval(CLI::App& app, EvalArguments& arguments) {
  CLI::App* eval = app.add_subcommand("eval", "Measure how often the cause is found");
  eval->add_option("--cases", arguments.cases, "Corpus: answers.jsonl, incidents.jsonl, bundles/")
      ->required()
      ->type_name("DIR");
  eval->add_option("--strategy", arguments.strategies,
                   "How to search; several with commas, all for every one; tiered")
      ->delimiter(',')
      ->type_name("NAME");
  eval->add_option("--case", arguments.only, "Just this case; again")->type_name("ID");
  eval->add_option("--jobs", arguments.jobs, "Cases at the same time")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  eval->add_flag("--hide-labels", arguments.hide_labels,
                 "Take every past incident of a case's own labels out of the history");
  eval->add_flag("--failures", arguments.failures, "Tell of each case that is not right why");
  eval->add_flag("--json", arguments.json, "Print the numbers as JSON, nothing else");
  eval->add_option("--knowledge", arguments.knowledge,
                   "Knowledge directory; again: one that overlays it")
      ->type_name("DIR");
  return eval;
}

cli::ExitCode RunEval(const EvalArguments& arguments, cli::Console& console) {
  const auto refuse = [&](const absl::Status& status) {
    console.err << "galen: " << status.message() << std::endl;
    return cli::ExitCodeOf(status);
  };
  const auto strategies = ChooseStrategies(arguments.strategies);
  if (!strategies.ok()) return refuse(strategies.status());
  auto corpus = ReadCorpus(arguments.cases);
  if (!corpus.ok()) return refuse(corpus.status());
  if (const auto narrowed = Narrow(arguments.only, *corpus); !narrowed.ok()) {
    return refuse(narrowed);
  }
  CaseRunner::Settings settings;
  settings.knowledge = arguments.knowledge;
  settings.hide_labels = arguments.hide_labels;
  const auto runner = CaseRunner::Create(settings);
  if (!runner.ok()) return refuse(runner.status());

  for (const std::string& strategy : *strategies) {
    std::vector<v1::CaseResult> results(corpus->cases.size());
    std::atomic<std::size_t> next = 0;
    std::atomic<std::size_t> done = 0;
    Mutex mu;
    std::vector<std::thread> workers;
    for (int i = 0; i < arguments.jobs; ++i) {
      workers.emplace_back([&] {
        for (std::size_t at = next++; at < results.size(); at = next++) {
          results[at] = (*runner)->Run(corpus->cases[at], strategy);
          const std::size_t finished = ++done;
          const MutexLock lock(mu);
          if (console.terminal.interactive) {
            console.err << "\r" << strategy << " " << finished << "/" << results.size()
                        << std::flush;
          }
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    if (console.terminal.interactive) console.err << "\r\x1b[2K" << std::flush;

    std::vector<CaseScore> scores;
    for (std::size_t i = 0; i < results.size(); ++i) {
      scores.push_back(ScoreCase(corpus->cases[i], results[i]));
    }
    std::vector<const CaseScore*> all;
    std::vector<const CaseScore*> misleading;
    std::vector<const CaseScore*> plain;
    int right = 0;
    int abstained = 0;
    int none = 0;
    int none_right = 0;
    double seconds = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const v1::Case& a_case = corpus->cases[i];
      all.push_back(&scores[i]);
      if (a_case.has_misleading()) {
        (a_case.misleading() ? misleading : plain).push_back(&scores[i]);
      }
      right += scores[i].verdict == Verdict::kRight;
      abstained += scores[i].verdict == Verdict::kAbstained;
      none += HasNoCause(a_case);
      none_right += HasNoCause(a_case) && scores[i].verdict == Verdict::kRight;
      seconds += results[i].wall_seconds();
      if (arguments.failures && scores[i].verdict != Verdict::kRight) {
        console.out << TellFailure(a_case, results[i], scores[i], console.terminal) << '\n';
      }
    }
    const F1Scores f1 = ScoreLeaves(all);
    console.out << absl::StrFormat(
        "%s: micro F1 %.3f  macro F1 %.3f  right %d of %d  abstained %d  none-cases right %d of "
        "%d  misleading %.3f  plain %.3f  (%.0f s)\n",
        strategy, f1.micro.F1(), f1.macro, right, all.size(), abstained, none_right, none,
        ScoreLeaves(misleading).micro.F1(), ScoreLeaves(plain).micro.F1(), seconds);
  }
  return cli::kOk;
}

}  // namespace galen::eval
