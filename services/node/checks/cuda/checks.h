#ifndef SERVICES_NODE_CHECKS_CUDA_CHECKS_H_
#define SERVICES_NODE_CHECKS_CUDA_CHECKS_H_

#include "absl/status/statusor.h"
#include "services/node/checks/check.h"

// The checks of this folder; knowledge/checks/gpu_active.yaml declares their findings, parameters
// and limits. All of them are SKIPPED without a CUDA driver and in a bundle, and all but the first
// for GPUs that another process uses.
namespace galen::node {

absl::StatusOr<CheckOutput> CheckCudaInit(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuMemory(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuCompute(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGemmRate(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckHbmBandwidth(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckHostBandwidth(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckPeerBandwidth(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckStressPower(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_CUDA_CHECKS_H_
