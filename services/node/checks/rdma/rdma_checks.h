#ifndef SERVICES_NODE_CHECKS_RDMA_RDMA_CHECKS_H_
#define SERVICES_NODE_CHECKS_RDMA_RDMA_CHECKS_H_

#include "absl/types/span.h"
#include "services/node/checks/check.h"

namespace galen::node {

// The checks of this folder under their names in the catalogue.
absl::Span<const NamedCheck> RdmaChecks();

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_RDMA_CHECKS_H_
