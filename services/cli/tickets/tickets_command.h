#ifndef SERVICES_CLI_TICKETS_TICKETS_COMMAND_H_
#define SERVICES_CLI_TICKETS_TICKETS_COMMAND_H_

#include <CLI/CLI.hpp>
#include <string>

#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// `galen tickets` as it was called.
struct TicketsArguments {
  std::string store;
  std::string target;
  std::string diagnosis;
  std::string config;
  bool all = false;
};

// Declares `galen tickets` and its commands list, due, dead, replay (of the gateway's store) and
// check (of a site's file).
CLI::App* DeclareTickets(CLI::App& app, TicketsArguments& arguments);
ExitCode RunTickets(const CLI::App& tickets, const TicketsArguments& arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_TICKETS_TICKETS_COMMAND_H_
