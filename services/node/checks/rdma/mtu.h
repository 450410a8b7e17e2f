#ifndef SERVICES_NODE_CHECKS_RDMA_MTU_H_
#define SERVICES_NODE_CHECKS_RDMA_MTU_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// active_mtu of `ibv_devinfo -v`, in bytes, by device ("nic:mlx5_0/port:1"). Linear. Pure.
std::map<std::string, std::int64_t> ParseActiveMtus(absl::string_view ibv_devinfo);

// rdma.mtu.
absl::StatusOr<CheckOutput> CheckMtu(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_MTU_H_
