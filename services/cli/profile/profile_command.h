#ifndef SERVICES_CLI_PROFILE_PROFILE_COMMAND_H_
#define SERVICES_CLI_PROFILE_PROFILE_COMMAND_H_

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// `galen profile` as it was called.
struct ProfileArguments {
  std::vector<std::string> knowledge;
  std::vector<std::string> paths;
  std::vector<std::string> against;  // paths of another job; empty: none
  std::size_t operators = 10;
  std::string svg;
  std::string shape;
  std::string gpu;
  bool json = false;
};

CLI::App* DeclareProfile(CLI::App& app, ProfileArguments& arguments);
// kOk where something could be read, whatever it says.
ExitCode RunProfile(const ProfileArguments& arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_PROFILE_PROFILE_COMMAND_H_
