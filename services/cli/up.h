#ifndef SERVICES_CLI_UP_H_
#define SERVICES_CLI_UP_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "common/rpc/security.h"
#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"
#include "services/cli/mesh_arguments.h"
#include "services/orchestrator/strategy.h"

namespace galen::cli {

// `galen up` as it was called.
struct UpArguments {
  MeshArguments mesh;
  std::string listen;  // "": DefaultSocket()
  std::string metrics;
  std::string log_format = "auto";
  std::vector<std::string> roots;
  std::string tests = "approved";
  std::string strategy{orchestrator::kDefaultStrategy};
  double drain_grace = 20;
  std::string site;
  rpc::SecurityOptions security;  // declared by the caller
};

// Declares `galen up`.
CLI::App* DeclareUp(CLI::App& app, UpArguments& arguments);

// Serves DiagnosisService from a mesh in this process, until SIGTERM. Events and errors go into the
// log of this process. The caller has blocked the termination signals before any thread was made.
ExitCode RunUp(const UpArguments& arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_UP_H_
