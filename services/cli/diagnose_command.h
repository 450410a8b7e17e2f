#ifndef SERVICES_CLI_DIAGNOSE_COMMAND_H_
#define SERVICES_CLI_DIAGNOSE_COMMAND_H_

#include <CLI/CLI.hpp>
#include <string>

#include "common/rpc/security.h"
#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"
#include "services/cli/mesh_arguments.h"

namespace galen::cli {

// `galen diagnose` as it was called, with the mesh that it uses.
struct DiagnoseCommandArguments {
  DiagnoseArguments diagnose;
  std::string show_reasoning;  // name of its form; "": the reasoning is not printed
  MeshArguments mesh;
  rpc::SecurityOptions security;  // declared by the caller
};

// Declares `galen diagnose`.
CLI::App* DeclareDiagnose(CLI::App& app, DiagnoseCommandArguments& arguments);

// Gathers the incident, and diagnoses it with a mesh in this process, or with a server.
ExitCode RunDiagnose(const DiagnoseCommandArguments& arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_DIAGNOSE_COMMAND_H_
