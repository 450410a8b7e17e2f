#ifndef SERVICES_CLI_UP_H_
#define SERVICES_CLI_UP_H_

#include <string>

#include "absl/time/time.h"
#include "common/observability/log/line.h"
#include "common/observability/metrics/registry.h"
#include "common/rpc/security.h"
#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"
#include "services/cli/local_mesh.h"

namespace galen::cli {

// `galen up` as it was called, beside what it makes the mesh of.
struct UpOptions {
  std::string address;            // "": DefaultSocket()
  rpc::SecurityOptions security;  // of role orchestrator
  absl::Duration drain_grace;
  std::string metrics;  // where metrics are served; "" nowhere
  log::Format log_format = log::Format::kText;
};

// `galen up`: serves DiagnosisService from a mesh in this process, until SIGTERM. Events and errors
// go into the log of this process. `numbers` holds the metrics of the caller's parts; those of the
// mesh are added. The caller has blocked the termination signals before any thread was made.
ExitCode ServeMesh(const LocalMesh::Options& mesh, const UpOptions& options,
                   metrics::Registry& numbers);

}  // namespace galen::cli

#endif  // SERVICES_CLI_UP_H_
