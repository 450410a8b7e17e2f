#ifndef SERVICES_CLI_TOP_TOP_COMMAND_H_
#define SERVICES_CLI_TOP_TOP_COMMAND_H_

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "common/rpc/security.h"
#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli::top {

// `galen top` as it was called.
struct TopArguments {
  std::string server;  // "": the socket of `galen up`, where there is one, else 127.0.0.1:50050
  std::vector<std::string> metrics;  // addresses
  std::vector<std::string> tenants;  // empty: those that the metrics name, else "default"
  double interval = 2;               // seconds
  bool once = false;
  bool json = false;
  rpc::SecurityOptions security;
};

CLI::App* DeclareTop(CLI::App& app, TopArguments& arguments);

// Shows what a mesh does, redrawn in place on a terminal until it is interrupted; elsewhere, and
// when asked for, once. Termination signals must be blocked. kUnreachable when neither the server
// nor any program answers at the last look.
ExitCode RunTop(const TopArguments& arguments, Console& console);

}  // namespace galen::cli::top

#endif  // SERVICES_CLI_TOP_TOP_COMMAND_H_
