#ifndef SERVICES_CLI_WATCH_H_
#define SERVICES_CLI_WATCH_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "common/rpc/security.h"
#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// `galen watch` as it was called.
struct WatchArguments {
  std::vector<std::string> knowledge;
  // Address of galen-execution; empty: this machine, watched by this process.
  std::string server;
  std::vector<std::string> nodes;  // of the mesh; empty: all
  bool json = false;
  rpc::SecurityOptions security;  // how to prove to it who asks; declared by the caller
};

// Declares `galen watch`.
CLI::App* DeclareWatch(CLI::App& app, WatchArguments& arguments);

// Prints what nodes notice by themselves, as they notice it, until it is interrupted or the other
// side goes away. Termination signals must be blocked (rpc::BlockTerminationSignals).
ExitCode WatchNodes(const WatchArguments& arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_WATCH_H_
