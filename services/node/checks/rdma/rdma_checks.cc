#include "services/node/checks/rdma/rdma_checks.h"

#include "services/node/checks/rdma/active.h"
#include "services/node/checks/rdma/counters.h"
#include "services/node/checks/rdma/fabric.h"
#include "services/node/checks/rdma/link.h"
#include "services/node/checks/rdma/mtu.h"
#include "services/node/checks/rdma/pcie_tuning.h"
#include "services/node/checks/rdma/qos.h"
#include "services/node/checks/rdma/settings.h"
#include "services/node/checks/rdma/subnet_manager.h"
#include "services/node/checks/rdma/transceiver.h"
#include "services/node/checks/system/nccl_release.h"

namespace galen::node {

absl::Span<const NamedCheck> RdmaChecks() {
  static const NamedCheck kChecks[] = {
      {"rdma.devices", CheckRdmaDevices},
      {"rdma.link", CheckRdmaLink},
      {"rdma.counters", CheckRdmaCounters},
      {"rdma.subnet_manager", CheckSubnetManager, &kSubnetManagerWant},
      {"rdma.bond", CheckBond},
      {"rdma.gid", CheckGid, &kNcclReleaseWant},
      {"rdma.pkey", CheckPkey},
      {"rdma.mtu", CheckMtu},
      {"rdma.pcie", CheckRdmaPcie},
      {"rdma.peermem", CheckPeermem},
      {"rdma.qos", CheckQos},
      {"rdma.transceiver", CheckTransceiver},
      {"rdma.loopback", CheckLoopback},
      {"rdma.pair", CheckPair},
      {"rdma.fabric", CheckFabricLinks},
      {"rdma.switches", CheckSwitches},
  };
  return kChecks;
}

}  // namespace galen::node
