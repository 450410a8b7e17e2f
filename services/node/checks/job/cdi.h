#ifndef SERVICES_NODE_CHECKS_JOB_CDI_H_
#define SERVICES_NODE_CHECKS_JOB_CDI_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// Paths on the host that a CDI specification (YAML or JSON) names: device nodes, mounts and hook
// programs; each once, sorted. DATA_LOSS: it has no cdiVersion. Pure.
absl::StatusOr<std::vector<std::string>> ParseCdiPaths(absl::string_view text);

// The server's release in the output of `docker version`; empty: it names none. Pure.
std::string DockerServerVersion(absl::string_view text);

// container.cdi, container.security.
absl::StatusOr<CheckOutput> CheckCdi(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckContainerSecurity(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_JOB_CDI_H_
