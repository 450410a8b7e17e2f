#ifndef SERVICES_CLI_REPAIRS_REPAIRS_COMMAND_H_
#define SERVICES_CLI_REPAIRS_REPAIRS_COMMAND_H_

#include <CLI/CLI.hpp>
#include <string>

#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"
#include "services/cli/repairs/dry_run.h"

namespace galen::cli {

// `galen repairs` as it was called.
struct RepairsArguments {
  std::string store;
  std::string action;
  std::string by;
  std::string why;
  bool json = false;
  DryRunArguments dry_run;
};

// Declares `galen repairs` and its commands: dry-run, which has a machine say what an action would
// do to it now; list and strike: the outcomes of approved repairs in the gateway's store, and how a
// misleading one is withdrawn.
CLI::App* DeclareRepairs(CLI::App& app, RepairsArguments& arguments);
ExitCode RunRepairs(const CLI::App& repairs, const RepairsArguments& arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_REPAIRS_REPAIRS_COMMAND_H_
