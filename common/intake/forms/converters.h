#ifndef COMMON_INTAKE_FORMS_CONVERTERS_H_
#define COMMON_INTAKE_FORMS_CONVERTERS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/intake/forms/forms.h"

namespace galen::intake {

// The converters behind Convert(). `text` is readable (see pasted.h), `command` as typed or "".
// INVALID_ARGUMENT if nothing of the text could be read. The files describe them.
using Converter = absl::StatusOr<Converted>(absl::string_view text, absl::string_view command);

Converter NvidiaSmiQuery;   // nvidia_smi_q.cc
Converter NvidiaSmiTable;   // nvidia_smi_table.cc
Converter NvidiaSmiCsv;     // nvidia_smi_csv.cc
Converter DiskFree;         // file_systems.cc
Converter DiskFreeInodes;   // file_systems.cc
Converter MountList;        // file_systems.cc
Converter FreeMemory;       // system.cc
Converter ShellLimits;      // system.cc
Converter ModuleList;       // system.cc
Converter ProcessList;      // processes.cc
Converter IpAddress;        // network.cc
Converter IpLink;           // network.cc
Converter IpRoute;          // network.cc
Converter InterfaceConfig;  // ifconfig.cc
Converter KubeNode;         // kubernetes.cc
Converter PythonPackages;   // packages.cc
Converter DebianPackages;   // packages.cc
Converter AptPackages;      // packages.cc
Converter DeviceNodes;      // devices.cc
Converter PciList;          // lspci.cc
Converter InfinibandState;  // rdma.cc
Converter GidList;          // rdma.cc
Converter RdmaLinks;        // rdma.cc
Converter EnvironmentList;  // environment.cc
Converter RocmSmi;          // rocm.cc
Converter AmdSmiText;       // amd_smi.cc
Converter BmcEvents;        // bmc.cc
Converter ClockTracking;    // services.cc
Converter DeviceInfo;       // rdma.cc
Converter DeviceMonitor;    // series.cc
Converter IptablesRules;    // iptables.cc
Converter KernelRelease;    // services.cc
Converter KubePod;          // kubernetes.cc
Converter LinkTables;       // mlxlink.cc
Converter NvidiaSmiApps;    // nvidia_smi_lists.cc
Converter SelinuxMode;      // services.cc
Converter TimedTable;       // series.cc
Converter TimeStatus;       // services.cc
Converter UnitStates;       // services.cc
Converter UserGroups;       // services.cc

}  // namespace galen::intake

#endif  // COMMON_INTAKE_FORMS_CONVERTERS_H_
