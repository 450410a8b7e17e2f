#ifndef BENCH_EVAL_SUITE_COMMAND_H_
#define BENCH_EVAL_SUITE_COMMAND_H_

#include <CLI/App.hpp>

#include "bench/eval/eval_command.h"

namespace galen::eval {

// The options of `galen-eval --suite`, which are read into `arguments`.
void DeclareSuite(CLI::App& eval, EvalArguments& arguments);

// `galen-eval --suite`: kOk when every question was answered, rightly or not; kBadInput for
// questions that cannot be read.
cli::ExitCode RunSuiteCommand(const EvalArguments& arguments, cli::Console& console);

}  // namespace galen::eval

#endif  // BENCH_EVAL_SUITE_COMMAND_H_
