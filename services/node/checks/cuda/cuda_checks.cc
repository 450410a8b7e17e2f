#include "services/node/checks/cuda/cuda_checks.h"

#include "services/node/checks/cuda/checks.h"

namespace galen::node {

absl::Span<const NamedCheck> CudaChecks() {
  static constexpr NamedCheck kChecks[] = {
      {"gpu.compute_test", CheckGpuCompute},      {"gpu.cuda_init", CheckCudaInit},
      {"gpu.gemm_rate", CheckGemmRate},           {"gpu.hbm_bandwidth", CheckHbmBandwidth},
      {"gpu.host_bandwidth", CheckHostBandwidth}, {"gpu.memory_test", CheckGpuMemory},
      {"gpu.peer_bandwidth", CheckPeerBandwidth}, {"gpu.stress_power", CheckStressPower},
  };
  return kChecks;
}

}  // namespace galen::node
