#include "services/node/registry.h"

#include <algorithm>

#include "services/node/checks/cuda/cuda_checks.h"
#include "services/node/checks/gpu/gpu_checks.h"
#include "services/node/checks/job/job_checks.h"
#include "services/node/checks/log/log_checks.h"
#include "services/node/checks/net/net_checks.h"
#include "services/node/checks/rdma/rdma_checks.h"
#include "services/node/checks/system/system_checks.h"

namespace galen::node {

std::vector<NamedCheck> AllChecks() {
  std::vector<NamedCheck> checks;
  for (const absl::Span<const NamedCheck> group :
       {CudaChecks(), GpuChecks(), JobChecks(), LogChecks(), NetChecks(), RdmaChecks(),
        SystemChecks()}) {
    checks.insert(checks.end(), group.begin(), group.end());
  }
  std::sort(checks.begin(), checks.end(),
            [](const NamedCheck& a, const NamedCheck& b) { return a.name < b.name; });
  return checks;
}

}  // namespace galen::node
