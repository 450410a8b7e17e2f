#include "services/cli/mesh_telemetry.h"

#include <cstddef>
#include <utility>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/host/roots.h"
#include "common/knowledge/load.h"
#include "services/execution/playbook/examine.h"

namespace galen::cli {
namespace {

std::vector<std::string> NodesWithNumbers(const LocalMesh::Options& options,
                                          const v1::Incident& incident) {
  constexpr std::size_t kMostNodes = 256;  // of which all is asked in one go
  auto measuring = TelemetryOf(options);
  if (!measuring.ok() || !measuring->has_value()) return {};
  const SystemClock clock;
  execution::TelemetryChecks checks(**std::move(measuring), clock);
  playbook::Times window;
  if (incident.has_start_time())
    window.start = absl::FromUnixSeconds(incident.start_time().seconds());
  if (incident.has_end_time()) window.end = absl::FromUnixSeconds(incident.end_time().seconds());
  std::vector<std::string> nodes = checks.LiveNodes(window);
  // More nodes than a job has: the server covers a whole fleet, so they are not the job's.
  if (nodes.size() > kMostNodes) nodes.clear();
  return nodes;
}

}  // namespace

absl::StatusOr<std::optional<execution::TelemetryChecks::Options>> TelemetryOf(
    const LocalMesh::Options& options) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> directories,
                         knowledge::FindDirectories(options.knowledge));
  auto measuring = execution::TelemetryChecks::Load(
      directories,
      options.counters.has_value() ? std::vector<telemetry::SourceAddress>() : options.prometheus);
  if (!measuring.ok()) {
    if (absl::IsNotFound(measuring.status()) && options.prometheus.empty()) {
      return std::optional<execution::TelemetryChecks::Options>();
    }
    return measuring.status();
  }
  if (options.counters.has_value()) {
    measuring->live = execution::TelemetryChecks::Opened{
        options.counters->source, {options.counters->first, options.counters->last}, std::nullopt};
  }
  // The person who starts this program may see all data of the server.
  measuring->live_for_bundles = true;
  measuring->bundle_root = [roots = options.roots](const std::string& bundle) {
    return host::ResolveWithin(bundle, roots, "--bundle-root");
  };
  return std::optional(*std::move(measuring));
}

absl::StatusOr<Gathered> GatherWithNumbers(const DiagnoseArguments& arguments,
                                           const std::vector<intake::Text>& texts,
                                           const host::Bundle* bundle, const intake::Kinds& kinds,
                                           LocalMesh::Options* options) {
  const std::string host = OwnHostName();
  GALEN_ASSIGN_OR_RETURN(Gathered gathered, GatherIncident(arguments, texts, bundle, kinds, host));
  if (options->prometheus.empty()) return gathered;
  GALEN_ASSIGN_OR_RETURN(options->counters, telemetry::OpenSources(options->prometheus));
  if (bundle != nullptr || gathered.incident.bundle().empty() ||
      !gathered.incident.nodes().empty()) {
    return gathered;
  }
  DiagnoseArguments with_nodes = arguments;
  with_nodes.nodes = NodesWithNumbers(*options, gathered.incident);
  return GatherIncident(with_nodes, texts, nullptr, kinds, host);
}

}  // namespace galen::cli
