// galen-eval: runs a corpus of incidents with known causes, or the suite of questions
// (docs/eval.md).
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "bench/eval/eval_command.h"
#include "common/base/locks.h"
#include "common/base/version.h"
#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"
#include "services/cli/terminal.h"

int main(int argc, char** argv) {
  galen::ForgetLockOrders();
  CLI::App app{"galen-eval measures how often Galen finds the cause of an incident."};
  app.footer(
      "Exit codes: 0 all cases were diagnosed, whatever the results; 1 a case could not be\n"
      "diagnosed; 2 bad input.");
  app.set_version_flag("--version", absl::StrCat("galen-eval ", galen::Version()));
  galen::eval::EvalArguments arguments;
  galen::eval::DeclareEval(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 has its own exit codes; ours say whether the caller can fix the error.
    return app.exit(error) == 0 ? galen::cli::kOk : galen::cli::kBadInput;
  }
  galen::cli::Console console{std::cin, std::cout, std::cerr,
                              galen::cli::Terminal::Of(STDOUT_FILENO)};
  return galen::eval::RunEval(arguments, console);
}
