#ifndef SERVICES_NODE_CHECKS_SYSTEM_NETWORK_H_
#define SERVICES_NODE_CHECKS_SYSTEM_NETWORK_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// Ports, both ends included.
struct PortRange {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

// "32768\t60999" of ip_local_port_range; nothing for another text. Pure.
std::optional<PortRange> ParsePortRange(absl::string_view text);

// Whether `iptables-save` lets new connections to the ports `high` in: the first rule of INPUT that
// takes them all decides, be it for all traffic, for all TCP, for new connections or for a range
// that holds those ports, else the policy. A rule that looks at anything else, as addresses,
// interfaces or sets of them, takes only some and decides nothing. Nothing when there is no INPUT
// chain. Pure.
std::optional<bool> InputIsOpen(absl::string_view iptables_save, const PortRange& high);

// net.resolve, net.firewall, net.ports, net.tcp_counters.
absl::StatusOr<CheckOutput> CheckResolve(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckFirewall(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckPorts(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckTcpCounters(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_NETWORK_H_
