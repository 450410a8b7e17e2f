#ifndef COMMON_HOST_INCIDENT_YAML_H_
#define COMMON_HOST_INCIDENT_YAML_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "galen/v1/incident.pb.h"

namespace galen::host {

// Reads the incident.yaml of a bundle. Unknown fields are kept as attributes of the workload and
// the environment; elsewhere each adds a line to `remarks`.
//
// INVALID_ARGUMENT "file:line: what; remedy", also for a log path that is absolute or has "..",
// and for more text, nodes or logs than galen.v1.Incident allows.
absl::StatusOr<v1::Incident> ParseIncident(absl::string_view text, absl::string_view file,
                                           std::vector<std::string>& remarks);

// The text of an incident.yaml that ParseIncident reads back. `bundle` and the logs' `content` are
// not part of the file.
std::string FormatIncident(const v1::Incident& incident);

}  // namespace galen::host

#endif  // COMMON_HOST_INCIDENT_YAML_H_
