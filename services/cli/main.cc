// galen: the command line. Each command is in a file of its own, with its options; this file puts
// them together.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/locks.h"
#include "common/base/version.h"
#include "common/rpc/serve.h"
#include "services/cli/bundle_commands.h"
#include "services/cli/certs/certs_command.h"
#include "services/cli/checks_command.h"
#include "services/cli/diagnose.h"
#include "services/cli/diagnose_command.h"
#include "services/cli/tool_commands.h"
#include "services/cli/up.h"
#include "services/cli/watch.h"

namespace galen::cli {
namespace {

// A repeatable option takes one value each time, so that it does not swallow the names of checks or
// the description that follow it.
void TakeOneValueEach(CLI::App& command) {
  for (CLI::Option* const option : command.get_options()) {
    if (!option->get_positional() && option->get_expected_max() > 1) {
      option->allow_extra_args(false);
    }
  }
  for (CLI::App* const each : command.get_subcommands({})) TakeOneValueEach(*each);
}

int Main(int argc, char** argv) {
  DiagnoseCommandArguments diagnose_arguments;
  UpArguments up_arguments;
  ChecksArguments checks_arguments;
  WatchArguments watch_arguments;
  BundleArguments bundle_arguments;
  CLI::App app{"Galen finds the root cause when a training or inference job fails or slows down."};
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, a cause confirmed; 3 no cause confirmed; 2 bad input; 4 the service\n"
      "could not be reached; 5 the advisor warns of an error; 1 Galen itself failed.");
  app.set_version_flag("--version", absl::StrCat("galen ", Version()));
  CLI::App* diagnose = DeclareDiagnose(app, diagnose_arguments);
  CLI::App* up = DeclareUp(app, up_arguments);
  CLI::App* checks = DeclareChecks(app, checks_arguments);
  CLI::App* watch = DeclareWatch(app, watch_arguments);
  CLI::App* bundle = DeclareBundle(app, bundle_arguments);
  DeclareCertificates(*diagnose, diagnose_arguments.security);
  DeclareCertificates(*up, up_arguments.security);
  DeclareCertificates(*checks->get_subcommand("run"), checks_arguments.security);
  DeclareCertificates(*watch, watch_arguments.security);
  up->add_option("--audit-log", up_arguments.security.audit_log,
                 "Append a JSON line for each call: who did what, and what was refused")
      ->type_name("FILE");
  const ToolCommands tools(app);
  TakeOneValueEach(app);
  // It was a command of this program once, and scripts may still call it.
  CLI::App* eval = app.add_subcommand("eval", "")->group("")->allow_extras();
  eval->set_help_flag();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 has codes of its own; ours say whether the caller can fix it.
    return app.exit(error) == 0 ? kOk : kBadInput;
  }
  if (*eval) {
    std::cerr << "galen: eval: the program galen-eval does this, with the same options "
                 "(docs/eval.md)"
              << std::endl;
    return kBadInput;
  }
  if (*up || *watch) rpc::BlockTerminationSignals();
  if (*up) rpc::BlockHangup();
  Console console{std::cin, std::cout, std::cerr, Terminal::Of(STDOUT_FILENO),
                  isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1};
  if (const std::optional<ExitCode> code = tools.Run(console)) return *code;
  if (*diagnose) return RunDiagnose(diagnose_arguments, console);
  if (*up) return RunUp(up_arguments, console);
  if (*checks) return RunChecks(*checks, checks_arguments, console);
  if (*watch) return WatchNodes(watch_arguments, console);
  return RunBundle(*bundle, bundle_arguments, console);
}

}  // namespace
}  // namespace galen::cli

int main(int argc, char** argv) {
  galen::ForgetLockOrders();
  return galen::cli::Main(argc, argv);
}
