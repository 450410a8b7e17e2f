#ifndef BENCH_EVAL_EVAL_COMMAND_H_
#define BENCH_EVAL_EVAL_COMMAND_H_

#include <CLI/App.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::eval {

// `galen-eval` as it was called.
struct EvalArguments {
  std::vector<std::string> cases;       // directories, a corpus each
  std::vector<std::string> strategies;  // names, or "all"; empty: the default one
  std::vector<std::string> only;        // ids; empty: all cases
  std::vector<std::string> knowledge;
  int jobs = 0;  // 0: as many as this machine has processors
  std::int64_t seed = 1;
  std::string out;   // where finished cases are kept; "": nowhere
  std::string html;  // where the page goes; "": nowhere
  // Modes in addition to the plain one (runner/mode.h).
  bool hide_labels = false;
  bool withhold_decisive = false;
  bool outside_taxonomy = false;
  bool answered = false;          // a simulated customer answers questions
  bool random_questions = false;  // and the same with questions by chance
  // Each case is judged by the base rates of the cases of other sources.
  bool leave_one_out = false;
  std::string base_rates;  // where the measured base rates go; "": nowhere
  // Endpoint of a model in addition to the built-in reasoner; "": none.
  std::string llm;
  std::string llm_cache;
  // Instead: a model that answers with the built-in reasoner's draft, to measure what prompts take.
  bool llm_draft = false;
  std::string llm_calibrations;  // where the model's measured accuracy goes; "": nowhere
  bool failures = false;
  bool json = false;
  // In place of a corpus: the suite of questions (bench/eval/suite/README.md).
  bool suite = false;
  std::string questions;             // file or directory; "": those of the source tree
  std::vector<std::string> metrics;  // "A", "B", "C"; empty: all
};

// Declares the options of `eval`, which are read into `arguments`.
void DeclareEval(CLI::App& eval, EvalArguments& arguments);

// kOk if every case was diagnosed, with any outcome; kBadInput if the corpus, the strategy or a
// case does not exist; kBroken if a case could not be diagnosed.
cli::ExitCode RunEval(const EvalArguments& arguments, cli::Console& console);

}  // namespace galen::eval

#endif  // BENCH_EVAL_EVAL_COMMAND_H_
