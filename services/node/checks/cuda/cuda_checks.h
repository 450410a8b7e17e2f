#ifndef SERVICES_NODE_CHECKS_CUDA_CUDA_CHECKS_H_
#define SERVICES_NODE_CHECKS_CUDA_CUDA_CHECKS_H_

#include "absl/types/span.h"
#include "services/node/checks/check.h"

namespace galen::node {

// The active checks of GPUs, by name.
absl::Span<const NamedCheck> CudaChecks();

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_CUDA_CUDA_CHECKS_H_
