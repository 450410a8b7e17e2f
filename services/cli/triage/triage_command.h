#ifndef SERVICES_CLI_TRIAGE_TRIAGE_COMMAND_H_
#define SERVICES_CLI_TRIAGE_TRIAGE_COMMAND_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// `galen triage` as it was called.
struct TriageArguments {
  std::vector<std::string> knowledge;
  std::vector<std::string> paths;
  std::string now;
  std::string scheduler_state = "unknown";
  bool json = false;
};

CLI::App* DeclareTriage(CLI::App& app, TriageArguments& arguments);
// kOk where a report could be made, whatever it says.
ExitCode RunTriage(const TriageArguments& arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_TRIAGE_TRIAGE_COMMAND_H_
