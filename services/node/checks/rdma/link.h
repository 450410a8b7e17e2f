#ifndef SERVICES_NODE_CHECKS_RDMA_LINK_H_
#define SERVICES_NODE_CHECKS_RDMA_LINK_H_

#include "absl/status/statusor.h"
#include "services/node/checks/check.h"

namespace galen::node {

// rdma.devices, rdma.link, rdma.bond.
absl::StatusOr<CheckOutput> CheckRdmaDevices(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckRdmaLink(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckBond(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_LINK_H_
