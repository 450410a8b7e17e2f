#ifndef SERVICES_NODE_CHECKS_RDMA_SETTINGS_H_
#define SERVICES_NODE_CHECKS_RDMA_SETTINGS_H_

#include "absl/status/statusor.h"
#include "services/node/checks/check.h"

namespace galen::node {

// rdma.gid, rdma.pkey, rdma.peermem.
absl::StatusOr<CheckOutput> CheckGid(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckPkey(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckPeermem(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_SETTINGS_H_
