#ifndef SERVICES_NODE_CHECKS_SYSTEM_FIREWALL_H_
#define SERVICES_NODE_CHECKS_SYSTEM_FIREWALL_H_

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

// What becomes of a new TCP connection to a port of a range that comes from another machine.
enum class Input {
  kNoChain,  // the rules name no INPUT chain: nothing is known
  kOpen,     // it is let in
  kClosed,   // it is turned away, wherever it comes from
  kSome,     // it is turned away but for some: by address, interface, set, or a chain not listed
};

// What the filter table of `iptables-save` does to new connections to the ports `high`: the first
// rule of INPUT that takes them all decides, be it for all traffic, for all TCP, for new
// connections or for a range that holds those ports, else the policy. Chains that a rule jumps to
// are followed. A rule that turns only some away, as a list of blocked addresses does, decides
// nothing; one that lets only some in leaves open whether a certain peer is let in. Pure; takes
// time in the length of the text, whatever its chains.
Input InputOf(absl::string_view iptables_save, const PortRange& high);

// net.firewall.
absl::StatusOr<CheckOutput> CheckFirewall(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_FIREWALL_H_
