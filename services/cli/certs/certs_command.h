#ifndef SERVICES_CLI_CERTS_CERTS_COMMAND_H_
#define SERVICES_CLI_CERTS_CERTS_COMMAND_H_

#include <CLI/CLI.hpp>
#include <string>

#include "common/rpc/security.h"
#include "services/cli/certs/directory.h"
#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// `galen certs` as it was called.
struct CertsArguments {
  std::string directory;
  NewCertificates create;
  double days = 90;
  bool add_authority = false;
  bool retire_authorities = false;
};

// Declares --certs and its like on a command that talks to a mesh or is one.
void DeclareCertificates(CLI::App& command, rpc::SecurityOptions& options);

// Declares `galen certs` and its commands new, show and renew.
CLI::App* DeclareCerts(CLI::App& app, CertsArguments& arguments);
ExitCode RunCerts(const CLI::App& certs, const CertsArguments& arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_CERTS_CERTS_COMMAND_H_
