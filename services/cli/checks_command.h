#ifndef SERVICES_CLI_CHECKS_COMMAND_H_
#define SERVICES_CLI_CHECKS_COMMAND_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "common/rpc/security.h"
#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// `galen checks` as it was called; each of its commands looks at its own part.
struct ChecksArguments {
  std::vector<std::string> knowledge;
  bool json = false;
  std::string check;  // show

  // run
  std::vector<std::string> checks;  // empty: all
  std::string bundle;
  std::vector<std::string> nodes;
  std::string server;
  bool allow_intrusive = false;
  bool allow_busy = false;
  std::vector<std::string> settings;
  rpc::SecurityOptions security;  // declared by the caller
};

// Declares `galen checks` and its commands list, show, doc and run.
CLI::App* DeclareChecks(CLI::App& app, ChecksArguments& arguments);
ExitCode RunChecks(const CLI::App& checks, const ChecksArguments& arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_CHECKS_COMMAND_H_
