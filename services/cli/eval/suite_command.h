#ifndef SERVICES_CLI_EVAL_SUITE_COMMAND_H_
#define SERVICES_CLI_EVAL_SUITE_COMMAND_H_

#include <CLI/App.hpp>

#include "services/cli/eval/eval_command.h"

namespace galen::eval {

// The options of `galen eval --suite`, which are read into `arguments`.
void DeclareSuite(CLI::App& eval, EvalArguments& arguments);

// `galen eval --suite`: kOk when every question was answered, rightly or not; kBadInput for
// questions that cannot be read.
cli::ExitCode RunSuiteCommand(const EvalArguments& arguments, cli::Console& console);

}  // namespace galen::eval

#endif  // SERVICES_CLI_EVAL_SUITE_COMMAND_H_
