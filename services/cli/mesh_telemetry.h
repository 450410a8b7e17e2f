#ifndef SERVICES_CLI_MESH_TELEMETRY_H_
#define SERVICES_CLI_MESH_TELEMETRY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/host/bundle.h"
#include "common/intake/kinds.h"
#include "common/intake/recognise.h"
#include "services/cli/diagnose.h"
#include "services/cli/gather.h"
#include "services/cli/local_mesh.h"
#include "services/execution/telemetry_checks.h"

namespace galen::cli {

// The checks of time series in a mesh with these options. Nothing: the knowledge has no playbooks,
// and `options` name no source.
absl::StatusOr<std::optional<execution::TelemetryChecks::Options>> TelemetryOf(
    const LocalMesh::Options& options);

// GatherIncident(), with the counters of `options->prometheus` opened into `options`. A log that
// names no machine is then about the machines that have counters at that time, unless they are too
// many for one job.
absl::StatusOr<Gathered> GatherWithNumbers(const DiagnoseArguments& arguments,
                                           const std::vector<intake::Text>& texts,
                                           const host::Bundle* bundle, const intake::Kinds& kinds,
                                           LocalMesh::Options* options);

}  // namespace galen::cli

#endif  // SERVICES_CLI_MESH_TELEMETRY_H_
