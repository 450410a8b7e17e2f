#include "services/node/registry.h"

#include <algorithm>

#include "services/node/checks/gpu/gpu_checks.h"

namespace galen::node {

std::vector<NamedCheck> AllChecks() {
  std::vector<NamedCheck> checks;
  for (const absl::Span<const NamedCheck> group : {GpuChecks()}) {
    checks.insert(checks.end(), group.begin(), group.end());
  }
  std::sort(checks.begin(), checks.end(),
            [](const NamedCheck& a, const NamedCheck& b) { return a.name < b.name; });
  return checks;
}

}  // namespace galen::node
