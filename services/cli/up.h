#ifndef SERVICES_CLI_UP_H_
#define SERVICES_CLI_UP_H_

#include <string>

#include "absl/time/time.h"
#include "common/rpc/security.h"
#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"
#include "services/cli/local_mesh.h"

namespace galen::cli {

// `galen up`: serves DiagnosisService on `address` from a mesh in this process, until SIGTERM.
// `security` is of role orchestrator. The caller has blocked the termination signals before any
// thread was made.
ExitCode ServeMesh(const LocalMesh::Options& options, const std::string& address,
                   const rpc::SecurityOptions& security, absl::Duration drain_grace,
                   Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_UP_H_
