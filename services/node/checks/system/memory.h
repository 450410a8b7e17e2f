#ifndef SERVICES_NODE_CHECKS_SYSTEM_MEMORY_H_
#define SERVICES_NODE_CHECKS_SYSTEM_MEMORY_H_

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// The ten-second average in percent of one line ("some", "full") of /proc/pressure/*. Pure.
std::optional<double> PressureAvg10(absl::string_view text, absl::string_view line);

// system.memory, system.pressure, system.cpu, system.stuck_processes, system.machine_check.
absl::StatusOr<CheckOutput> CheckMemory(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckPressure(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckCpu(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckStuckProcesses(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckMachineCheck(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_MEMORY_H_
