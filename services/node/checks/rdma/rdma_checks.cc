#include "services/node/checks/rdma/rdma_checks.h"

#include "services/node/checks/rdma/counters.h"
#include "services/node/checks/rdma/link.h"
#include "services/node/checks/rdma/settings.h"

namespace galen::node {

absl::Span<const NamedCheck> RdmaChecks() {
  static constexpr NamedCheck kChecks[] = {
      {"rdma.devices", CheckRdmaDevices},
      {"rdma.link", CheckRdmaLink},
      {"rdma.counters", CheckRdmaCounters},
      {"rdma.subnet_manager", CheckSubnetManager},
      {"rdma.bond", CheckBond},
      {"rdma.gid", CheckGid},
      {"rdma.pkey", CheckPkey},
      {"rdma.mtu", CheckMtu},
      {"rdma.pcie", CheckRdmaPcie},
      {"rdma.peermem", CheckPeermem},
  };
  return kChecks;
}

}  // namespace galen::node
