#include "services/node/checks/gpu/gpu_checks.h"

#include "services/node/checks/gpu/checks.h"

namespace galen::node {

absl::Span<const NamedCheck> GpuChecks() {
  static constexpr NamedCheck kChecks[] = {
      {"gpu.bar", CheckGpuBar},
      {"gpu.c2c", CheckGpuC2c},
      {"gpu.clocks", CheckGpuClocks},
      {"gpu.driver", CheckGpuDriver},
      {"gpu.ecc", CheckGpuEcc},
      {"gpu.fabric_state", CheckGpuFabricState},
      {"gpu.firmware", CheckGpuFirmware},
      {"gpu.inforom", CheckGpuInforom},
      {"gpu.inventory", CheckGpuInventory},
      {"gpu.nvlink_errors", CheckGpuNvlinkErrors},
      {"gpu.nvlink_status", CheckGpuNvlinkStatus},
      {"gpu.page_retirement", CheckGpuPageRetirement},
      {"gpu.pcie_errors", CheckGpuPcieErrors},
      {"gpu.pcie_link", CheckGpuPcieLink},
      {"gpu.power", CheckGpuPower},
      {"gpu.processes", CheckGpuProcesses},
      {"gpu.recovery_action", CheckGpuRecoveryAction},
      {"gpu.row_remap", CheckGpuRowRemap},
      {"gpu.settings", CheckGpuSettings},
      {"gpu.smi_health", CheckGpuSmiHealth},
      {"gpu.thermal", CheckGpuThermal},
      {"gpu.throttle", CheckGpuThrottle},
      {"gpu.topology", CheckGpuTopology},
      {"gpu.xgmi", CheckGpuXgmi},
  };
  return kChecks;
}

}  // namespace galen::node
