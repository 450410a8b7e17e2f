#ifndef SERVICES_CLI_UP_H_
#define SERVICES_CLI_UP_H_

#include <string>

#include "absl/time/time.h"
#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"
#include "services/cli/local_mesh.h"

namespace galen::cli {

// `galen up`: serves DiagnosisService on `address` from a mesh in this process, until SIGTERM.
// The caller has blocked the termination signals before any thread was made.
ExitCode ServeMesh(const LocalMesh::Options& options, const std::string& address,
                   absl::Duration drain_grace, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_UP_H_
