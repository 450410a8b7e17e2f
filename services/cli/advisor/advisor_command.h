#ifndef SERVICES_CLI_ADVISOR_ADVISOR_COMMAND_H_
#define SERVICES_CLI_ADVISOR_ADVISOR_COMMAND_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "common/rpc/security.h"
#include "services/cli/advisor/sign.h"
#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// `galen advisor` as it was called.
struct AdvisorArguments {
  SignArguments sign;
  std::string server = "127.0.0.1:50059";
  rpc::SecurityOptions security;
  bool json = false;
  // register, progress
  std::string signature;  // a file, or both tokens:
  std::string archetype;
  std::string stack;
  std::string parent = "tenants/default";
  std::string hardware;  // a file; these flags take precedence over it:
  std::string gpu;
  std::string nic;
  std::string driver;
  std::int32_t gpus_per_node = 0;
  double clock_limit = 0;
  double power_limit = 0;
  std::vector<std::string> settings;
  std::vector<std::string> needs;
  std::vector<std::string> components;
  std::vector<std::string> conditions;
  // progress, test
  std::string job;
  double hours = 0;
  double horizon = 24;
  std::int64_t gpus = 1;
  std::string context;
  std::vector<std::string> signs;
  std::string check;
  std::string outcome;
  // runs
  std::string file;
  std::int64_t first = 1;
  int batch = 1000;
  // revoke, restore
  std::string id;
  std::string by;
  std::string why;
};

CLI::App* DeclareAdvisor(CLI::App& app, AdvisorArguments& arguments);
// kMismatch: `register` was answered with a warning of severity ERROR, or `test` with an alarm.
ExitCode RunAdvisor(const CLI::App& advisor, const AdvisorArguments& arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_ADVISOR_ADVISOR_COMMAND_H_
