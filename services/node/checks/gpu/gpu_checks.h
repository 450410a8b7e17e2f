#ifndef SERVICES_NODE_CHECKS_GPU_GPU_CHECKS_H_
#define SERVICES_NODE_CHECKS_GPU_GPU_CHECKS_H_

#include "absl/types/span.h"
#include "services/node/checks/check.h"

namespace galen::node {

// The checks of GPUs, by name.
absl::Span<const NamedCheck> GpuChecks();

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_GPU_GPU_CHECKS_H_
