#ifndef SERVICES_NODE_CHECKS_SYSTEM_DEVICES_H_
#define SERVICES_NODE_CHECKS_SYSTEM_DEVICES_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// Whether ASPM is enabled on the link of each device, by PCI address (0000:b3:00.0), from
// `lspci -vvv`. Devices that print no link control are left out. Pure.
std::map<std::string, bool> AspmOfLspci(absl::string_view text);

// system.devices, system.power_management.
absl::StatusOr<CheckOutput> CheckDevices(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckPowerManagement(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_DEVICES_H_
