#ifndef SERVICES_NODE_CHECKS_LOG_NCCL_TOPOLOGY_H_
#define SERVICES_NODE_CHECKS_LOG_NCCL_TOPOLOGY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// The content of a topology file of NCCL or RCCL (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE).
struct NcclTopology {
  struct Gpu {
    std::string bus_id;
    int device = -1;
    // NICs below the nearest common bridge, by name, or by bus address where they have none.
    std::vector<std::string> nearest_nics;
  };
  std::vector<Gpu> gpus;
  struct Nic {
    std::string name;
    int speed_mb_s = 0;
  };
  std::vector<Nic> nics;
};

// DATA_LOSS: not such a file. Bounded in depth and size.
absl::StatusOr<NcclTopology> ParseNcclTopology(absl::string_view xml);

// nccl.topology.
absl::StatusOr<CheckOutput> CheckNcclTopology(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_LOG_NCCL_TOPOLOGY_H_
