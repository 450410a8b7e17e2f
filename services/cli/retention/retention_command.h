#ifndef SERVICES_CLI_RETENTION_RETENTION_COMMAND_H_
#define SERVICES_CLI_RETENTION_RETENTION_COMMAND_H_

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/rpc/security.h"
#include "common/store/event_log.h"
#include "services/cli/diagnose.h"
#include "services/cli/diagnosis_api.h"
#include "services/cli/exit_code.h"
#include "services/orchestrator/retention.h"

namespace galen::cli {

// `galen retention` or `galen delete` as it was called.
struct RetentionArguments {
  std::string server;  // "": the store of this machine
  std::string store;   // "": where `galen up` keeps diagnoses
  rpc::SecurityOptions security;

  // retention
  std::vector<std::string> keep;  // as orchestrator::ParseRetention() takes it
  std::string tenant = "default";
  bool waiting = false;
  bool trial = false;

  // delete
  std::string name;  // tenants/T/diagnoses/D, or D alone of the default tenant
};

CLI::App* DeclareRetention(CLI::App& app, RetentionArguments& arguments);
CLI::App* DeclareDelete(CLI::App& app, RetentionArguments& arguments);
ExitCode RunRetention(const RetentionArguments& arguments, Console& console);
ExitCode RunDelete(const RetentionArguments& arguments, Console& console);

// `galen retention` on a store: one line for each diagnosis that is deleted, or would be.
absl::Status ApplyRetention(store::EventLog& log, const orchestrator::RetentionPolicy& policy,
                            const std::string& owner, bool trial, Console& console);
// The same of one tenant's diagnoses at a service.
absl::Status ApplyRetentionAt(DiagnosisApi& api, const orchestrator::RetentionPolicy& policy,
                              const std::string& tenant, bool trial, absl::Time now,
                              Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_RETENTION_RETENTION_COMMAND_H_
