#ifndef SERVICES_NODE_CHECKS_SYSTEM_SERVICES_H_
#define SERVICES_NODE_CHECKS_SYSTEM_SERVICES_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// Properties of one unit.
struct Unit {
  std::string load;    // loaded, not-found, masked
  std::string active;  // active, inactive, failed, activating
  std::string result;  // success, exit-code, ...
};

// `systemctl show` of several units, by name without ".service". Pure.
std::map<std::string, Unit> ParseUnits(absl::string_view text);

// The state of the units that checks know, as captured. Errors of the host pass through.
absl::StatusOr<std::map<std::string, Unit>> ReadUnits(const host::Host& host);

// "550.90.07" of the package of that stem in `dpkg-query -W` ("nvidia-fabricmanager-550
// 550.90.07-1") or `rpm -qa` ("nvidia-fabric-manager-550.90.07-1.x86_64"); empty: none. If there
// are several, the one of version `wanted`, else the first: dpkg-query lists removed packages, too.
// Pure.
std::string PackageVersion(absl::string_view packages, absl::string_view stem,
                           absl::string_view wanted = "");

// Whether the node is known to use IMEX: the NVLink fabric of its GPUs spans machines, or the
// service was set up.
bool UsesImex(const host::Host& host);

// system.services, system.fabric_manager, system.imex, system.imex_channel, system.mps,
// system.time_sync.
absl::StatusOr<CheckOutput> CheckServices(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckFabricManager(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckImex(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckImexChannel(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckMps(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckTimeSync(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_SERVICES_H_
