#include "bench/eval/eval_command.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "bench/eval/corpus/corpus.h"
#include "bench/eval/metrics/base_rates.h"
#include "bench/eval/metrics/model_calibrations.h"
#include "bench/eval/metrics/run_scores.h"
#include "bench/eval/metrics/score.h"
#include "bench/eval/report/failures.h"
#include "bench/eval/report/page.h"
#include "bench/eval/report/progress_bar.h"
#include "bench/eval/report/tables.h"
#include "bench/eval/runner/case_runner.h"
#include "bench/eval/runner/run_cases.h"
#include "bench/eval/runner/run_store.h"
#include "bench/eval/suite_command.h"
#include "common/base/status_macros.h"
#include "common/reasoner/llm/open_model.h"
#include "services/cli/llm/draft_model.h"
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
      return absl::InvalidArgumentError(absl::StrCat("--strategy ", name, ": is unknown; use ",
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

// A case is outside the taxonomy if none of its names is a leaf.
void MarkOutside(const knowledge::Knowledge& knowledge, Corpus& corpus) {
  const auto is_leaf = [&](const std::string& label) {
    const auto* found = knowledge.FindLabel(label);
    return found != nullptr && knowledge::IsLeaf(*found);
  };
  std::vector<std::string> outside;
  for (v1::Case& a_case : corpus.cases) {
    if (a_case.labels().empty() ||
        std::any_of(a_case.labels().begin(), a_case.labels().end(), is_leaf) ||
        std::any_of(a_case.labels_acceptable().begin(), a_case.labels_acceptable().end(),
                    is_leaf)) {
      continue;
    }
    a_case.set_outside(true);
    outside.push_back(absl::StrCat(a_case.id(), " (", a_case.labels(0), ")"));
  }
  if (outside.empty()) return;
  corpus.remarks.push_back(absl::StrCat("the taxonomy has no leaf for the cause of ",
                                        absl::StrJoin(outside, ", "),
                                        ": right is to confirm nothing"));
}

std::vector<Mode> ModesOf(const EvalArguments& arguments) {
  std::vector<Mode> modes = {Mode::kPlain};
  if (arguments.hide_labels) modes.push_back(Mode::kUnseen);
  if (arguments.withhold_decisive) modes.push_back(Mode::kWithheld);
  if (arguments.outside_taxonomy) modes.push_back(Mode::kOutside);
  if (arguments.answered) modes.push_back(Mode::kAnswered);
  if (arguments.random_questions) modes.push_back(Mode::kAnsweredAtRandom);
  return modes;
}

std::string NameOf(const std::string& strategy, Mode mode) {
  return mode == Mode::kPlain ? strategy : absl::StrCat(strategy, ", ", ModeName(mode));
}

// One strategy in one mode over the corpus.
class Run {
 public:
  Run(const EvalArguments& arguments, const Corpus& corpus, const CaseRunner& runner,
      const RunStore* store, cli::Console& console)
      : arguments_(arguments), corpus_(corpus), runner_(runner), store_(store), console_(console) {}

  // The frequency of each observation in cases with other causes.
  absl::StatusOr<BaseRates> Measure() {
    GALEN_ASSIGN_OR_RETURN(const std::vector<v1::CaseResult> results,
                           RunAll(corpus_.cases, "exhaustive", Mode::kMeasured));
    TellErrors(results);
    return BaseRates(runner_.knowledge(), corpus_.cases, results);
  }

  // Prints failures if requested. With `rates`, each case is judged with the rates of the other
  // cases.
  absl::StatusOr<v1::Scores> Score(const std::string& strategy, Mode mode, const BaseRates* rates) {
    std::vector<v1::Case> cases;
    for (const v1::Case& a_case : corpus_.cases) {
      // Nothing can be taken away from a case without a cause.
      if (mode != Mode::kPlain && !HasCause(a_case)) continue;
      // A reporter who has nothing beyond the posted texts answers no question.
      const bool answered = mode == Mode::kAnswered || mode == Mode::kAnsweredAtRandom;
      if (answered && a_case.bundle().empty()) continue;
      v1::Case& judged = cases.emplace_back(Judged(mode, a_case));
      if (rates == nullptr) continue;
      for (knowledge::v1::BaseRate& rate : rates->Without(a_case)) {
        *judged.add_base_rates() = std::move(rate);
      }
    }
    GALEN_ASSIGN_OR_RETURN(const std::vector<v1::CaseResult> results,
                           RunAll(cases, strategy, mode));
    std::vector<CaseScore> scores;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      scores.push_back(ScoreCase(cases[i], results[i]));
    }
    if (arguments_.failures && !arguments_.json) {
      console_.out << cli::Paint(console_.terminal, cli::Colour::kBold,
                                 absl::StrCat("Not right: ", NameOf(strategy, mode)))
                   << "\n\n";
      for (std::size_t i = 0; i < cases.size(); ++i) {
        if (scores[i].verdict == Verdict::kRight) continue;
        console_.out << TellFailure(cases[i], results[i], scores[i], console_.terminal) << '\n';
      }
    }
    TellErrors(results);
    return ScoreRun(cases, results, scores, arguments_.seed);
  }

 private:
  void TellErrors(const std::vector<v1::CaseResult>& results) {
    for (const v1::CaseResult& result : results) {
      if (result.error().empty()) continue;
      console_.err << "galen-eval: case " << result.id() << ": " << result.error() << std::endl;
    }
  }

  absl::StatusOr<std::vector<v1::CaseResult>> RunAll(const std::vector<v1::Case>& cases,
                                                     const std::string& strategy, Mode mode) {
    RunProgress progress;
    progress.name = NameOf(strategy, mode);
    progress.all = cases.size();
    const absl::Time start = absl::Now();
    CaseFunctions functions;
    functions.run = [&](const v1::Case& a_case, const std::string& name, Mode in_mode) {
      return runner_.Run(a_case, name, in_mode);
    };
    functions.key_of = [&](const v1::Case& a_case) { return runner_.KeyOf(a_case); };
    const auto on_done = [&](std::size_t at, const v1::CaseResult& result, bool kept) {
      ++progress.done;
      progress.kept += kept ? 1 : 0;
      progress.elapsed = absl::Now() - start;
      progress.right += ScoreCase(cases[at], result).verdict == Verdict::kRight ? 1 : 0;
      if (!console_.terminal.interactive) return;
      console_.err << "\r\x1b[2K" << ProgressLine(progress, console_.terminal.width) << std::flush;
    };
    auto results = RunCases(cases, strategy, mode, Jobs(), store_, functions, on_done);
    if (console_.terminal.interactive) console_.err << "\r\x1b[2K" << std::flush;
    return results;
  }

  int Jobs() const {
    if (arguments_.jobs > 0) return arguments_.jobs;
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }

  const EvalArguments& arguments_;
  const Corpus& corpus_;
  const CaseRunner& runner_;
  const RunStore* const store_;
  cli::Console& console_;
};

absl::Status Write(const std::string& option, const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  if (file.flush()) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(option, " ", path, ": cannot be written"));
}

absl::StatusOr<v1::Report> Evaluate(const EvalArguments& arguments, cli::Console& console) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> strategies,
                         ChooseStrategies(arguments.strategies));
  GALEN_ASSIGN_OR_RETURN(Corpus corpus, ReadCorpora(arguments.cases));
  GALEN_RETURN_IF_ERROR(Narrow(arguments.only, corpus));
  std::optional<RunStore> store;
  if (!arguments.out.empty()) {
    GALEN_ASSIGN_OR_RETURN(store, RunStore::Open(arguments.out));
  }
  if (arguments.llm_draft && !arguments.llm.empty()) {
    return absl::InvalidArgumentError("--llm-draft: answers in place of --llm; give one of them");
  }
  if (!arguments.llm_calibrations.empty() && arguments.llm.empty()) {
    return absl::InvalidArgumentError(
        "--llm-calibrations: measures a model; name its endpoint by --llm");
  }
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<reasoner::llm::OpenedModel> opened,
                         reasoner::llm::OpenedModel::Open(arguments.llm, arguments.llm_cache));
  cli::DraftModel draft;
  std::optional<reasoner::llm::Model> model = reasoner::llm::ModelOf(opened.get());
  if (arguments.llm_draft) model = reasoner::llm::Model{.client = &draft};
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<const CaseRunner> runner,
                         CaseRunner::Create(arguments.knowledge, model));
  MarkOutside(runner->knowledge(), corpus);

  v1::Report report;
  report.mutable_corpora()->Assign(corpus.directories.begin(), corpus.directories.end());
  report.set_knowledge_digest(runner->knowledge().digest());
  report.set_seed(arguments.seed);
  report.mutable_remarks()->Assign(corpus.remarks.begin(), corpus.remarks.end());
  Run run(arguments, corpus, *runner, store.has_value() ? &*store : nullptr, console);
  std::optional<BaseRates> rates;
  if (!arguments.base_rates.empty() || arguments.leave_one_out) {
    GALEN_ASSIGN_OR_RETURN(rates, run.Measure());
  }
  if (!arguments.base_rates.empty()) {
    GALEN_RETURN_IF_ERROR(Write("--base-rates", arguments.base_rates, BaseRatesYaml(rates->All())));
  }
  const BaseRates* const held_out = arguments.leave_one_out ? &*rates : nullptr;
  for (const Mode mode : ModesOf(arguments)) {
    for (const std::string& strategy : strategies) {
      GALEN_ASSIGN_OR_RETURN(*report.add_runs(), run.Score(strategy, mode, held_out));
    }
  }
  if (!arguments.llm_calibrations.empty()) {
    std::vector<knowledge::v1::LlmCalibration> measured;
    for (const v1::Scores& scores : report.runs()) {
      measured.insert(measured.end(), scores.llm_calibrations().begin(),
                      scores.llm_calibrations().end());
    }
    GALEN_RETURN_IF_ERROR(
        Write("--llm-calibrations", arguments.llm_calibrations, CalibrationsYaml(measured)));
  }
  if (!arguments.html.empty()) {
    GALEN_RETURN_IF_ERROR(Write("--html", arguments.html, Page(report)));
  }
  return report;
}

}  // namespace

void DeclareEval(CLI::App& eval, EvalArguments& arguments) {
  eval.add_option(
          "--cases", arguments.cases,
          "Corpus: answers.jsonl, and bundles/, ID/report.md or incidents.jsonl; repeatable")
      ->allow_extra_args(false)
      ->type_name("DIR");
  DeclareSuite(eval, arguments);
  eval.add_option("--strategy", arguments.strategies,
                  "Strategies, separated by commas; all: every one. Default: tiered")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME");
  eval.add_option("--case", arguments.only, "Evaluate only this case; repeatable")
      ->allow_extra_args(false)
      ->type_name("ID");
  eval.add_option("--jobs", arguments.jobs,
                  "Cases at the same time; default: the number of processors")
      ->check(CLI::Range(1, 256));
  eval.add_option("--seed", arguments.seed, "Seed of the resampled intervals")
      ->capture_default_str();
  eval.add_option("--out", arguments.out,
                  "Keep finished cases in this directory, and reuse those that it has")
      ->type_name("DIR");
  eval.add_option("--html", arguments.html, "Write the numbers as a page with plots")
      ->type_name("FILE");
  eval.add_flag("--hide-labels", arguments.hide_labels,
                "Also without past incidents of a case's own labels");
  eval.add_flag("--withhold-decisive", arguments.withhold_decisive,
                "Also without the checks that decide the true cause");
  eval.add_flag("--outside-taxonomy", arguments.outside_taxonomy,
                "Also without the true cause in the taxonomy");
  eval.add_flag("--answered", arguments.answered,
                "Also without the decisive evidence in the bundle, which a simulated customer "
                "gives in answers, for two rounds");
  eval.add_flag("--random-questions", arguments.random_questions,
                "The same with as many random questions, as a baseline");
  eval.add_flag("--leave-one-out", arguments.leave_one_out,
                "Judge each case by the base rates of the cases of other sources");
  eval.add_option("--base-rates", arguments.base_rates,
                  "Measure how often each observation is seen beside other causes, and write the "
                  "rates to this file")
      ->type_name("FILE");
  eval.add_option("--llm", arguments.llm, "Endpoint file of a language model (docs/llm.md)")
      ->type_name("FILE");
  eval.add_option("--llm-cache", arguments.llm_cache,
                  "Keep the model's answers in this file or Redis")
      ->type_name("FILE|URL");
  eval.add_option("--llm-calibrations", arguments.llm_calibrations,
                  "Measure how often causes that the model confirms are right, and write that to "
                  "this file, for a site's knowledge")
      ->type_name("FILE");
  eval.add_flag(
      "--llm-draft", arguments.llm_draft,
      "Estimate the tokens of prompts with a stand-in that answers like the built-in reasoner");
  eval.add_flag("--failures", arguments.failures,
                "Print the reason for each case that is not right");
  eval.add_flag("--json", arguments.json, "Print only JSON");
  eval.add_option("--knowledge", arguments.knowledge,
                  "Knowledge directory; repeatable: later ones overlay earlier ones")
      ->allow_extra_args(false)
      ->type_name("DIR");
}

cli::ExitCode RunEval(const EvalArguments& arguments, cli::Console& console) {
  if (arguments.suite) return RunSuiteCommand(arguments, console);
  if (arguments.cases.empty()) {
    console.err << "galen-eval: --cases: name a corpus, or use --suite" << std::endl;
    return cli::kBadInput;
  }
  const absl::StatusOr<v1::Report> report = Evaluate(arguments, console);
  if (!report.ok()) {
    console.err << "galen-eval: " << report.status().message() << std::endl;
    return cli::ExitCodeOf(report.status());
  }
  if (arguments.json) {
    google::protobuf::util::JsonPrintOptions options;
    options.add_whitespace = true;
    options.always_print_primitive_fields = true;
    std::string json;
    if (!google::protobuf::util::MessageToJsonString(*report, &json, options).ok()) {
      console.err << "galen-eval: the numbers cannot be written as JSON" << std::endl;
      return cli::kBroken;
    }
    console.out << json << std::flush;
  } else {
    for (const std::string& remark : report->remarks()) console.out << "note: " << remark << '\n';
    for (const Table& table : TerminalTables(*report)) {
      console.out << TableText(table) << '\n';
    }
    console.out << "knowledge " << report->knowledge_digest() << std::endl;
  }
  const bool failed = std::any_of(report->runs().begin(), report->runs().end(),
                                  [](const v1::Scores& run) { return run.failed() > 0; });
  return failed ? cli::kBroken : cli::kOk;
}

}  // namespace galen::eval
