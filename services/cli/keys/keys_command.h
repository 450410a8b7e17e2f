#ifndef SERVICES_CLI_KEYS_KEYS_COMMAND_H_
#define SERVICES_CLI_KEYS_KEYS_COMMAND_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// `galen keys` as it was called.
struct KeysArguments {
  std::string store;
  std::string seal;
  bool unsealed = false;
  std::string tenant;
  std::string role = "customer";
  std::vector<std::string> scopes;
  double days = 90;
  bool never = false;
  std::string note;
  std::string id;
};

// Declares `galen keys` and its commands create, list and revoke: the API keys of the gateway, in
// the store that it uses.
CLI::App* DeclareKeys(CLI::App& app, KeysArguments& arguments);
ExitCode RunKeys(const CLI::App& keys, const KeysArguments& arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_KEYS_KEYS_COMMAND_H_
