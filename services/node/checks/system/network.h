#ifndef SERVICES_NODE_CHECKS_SYSTEM_NETWORK_H_
#define SERVICES_NODE_CHECKS_SYSTEM_NETWORK_H_

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// Whether `iptables-save` lets new connections to high ports in: the INPUT policy accepts, or a
// rule accepts all, all TCP, or the range. Nothing when there is no INPUT chain. Pure.
std::optional<bool> InputIsOpen(absl::string_view iptables_save);

// net.resolve, net.firewall, net.ports, net.tcp_counters.
absl::StatusOr<CheckOutput> CheckResolve(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckFirewall(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckPorts(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckTcpCounters(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_NETWORK_H_
