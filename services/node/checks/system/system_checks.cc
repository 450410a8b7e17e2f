#include "services/node/checks/system/system_checks.h"

#include "services/node/checks/system/bmc.h"
#include "services/node/checks/system/boot_history.h"
#include "services/node/checks/system/devices.h"
#include "services/node/checks/system/drives.h"
#include "services/node/checks/system/file_systems.h"
#include "services/node/checks/system/firewall.h"
#include "services/node/checks/system/iommu.h"
#include "services/node/checks/system/kernel_log.h"
#include "services/node/checks/system/memory.h"
#include "services/node/checks/system/network.h"
#include "services/node/checks/system/network_fs.h"
#include "services/node/checks/system/orchestrator.h"
#include "services/node/checks/system/platform.h"
#include "services/node/checks/system/process_load.h"
#include "services/node/checks/system/services.h"

namespace galen::node {

absl::Span<const NamedCheck> SystemChecks() {
  static const NamedCheck kChecks[] = {
      {"system.kernel_log", CheckKernelLog},
      {"system.memory", CheckMemory},
      {"system.pressure", CheckPressure},
      {"system.cpu", CheckCpu},
      {"system.stuck_processes", CheckStuckProcesses},
      {"system.machine_check", CheckMachineCheck},
      {"system.disk", CheckDisk},
      {"system.services", CheckServices},
      {"system.fabric_manager", CheckFabricManager},
      {"system.imex", CheckImex},
      {"system.imex_channel", CheckImexChannel},
      {"system.mps", CheckMps},
      {"system.time_sync", CheckTimeSync},
      {"system.kernel_modules", CheckKernelModules},
      {"system.cmdline", CheckCmdline},
      {"system.iommu", CheckIommu},
      {"system.acs", CheckAcs},
      {"system.virtualization", CheckVirtualization},
      {"system.security", CheckSecurity},
      {"system.boot_history", CheckBootHistory},
      {"system.devices", CheckDevices},
      {"system.power_management", CheckPowerManagement},
      {"system.drives", CheckDrives},
      {"system.bmc", CheckBmc},
      {"system.process_load", CheckProcessLoad},
      {"system.network_fs", CheckNetworkFs},
      {"system.orchestrator", CheckOrchestrator, &kOrchestratorWant},
      {"net.resolve", CheckResolve},
      {"net.firewall", CheckFirewall},
      {"net.ports", CheckPorts},
      {"net.tcp_counters", CheckTcpCounters},
  };
  return kChecks;
}

}  // namespace galen::node
