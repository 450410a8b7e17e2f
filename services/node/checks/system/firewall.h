#ifndef SERVICES_NODE_CHECKS_SYSTEM_FIREWALL_H_
#define SERVICES_NODE_CHECKS_SYSTEM_FIREWALL_H_

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"
#include "services/node/checks/system/packet_filter.h"

namespace galen::node {

// "32768\t60999" of ip_local_port_range; nothing for another text. Pure.
std::optional<PortRange> ParsePortRange(absl::string_view text);

// The effect of the filter table of `iptables-save` on new connections to the ports `high`: the
// first rule of INPUT that takes them all decides, be it for all traffic, for all TCP, for new
// connections or for a range that holds those ports, else the policy. Chains that a rule jumps to
// are followed. A rule that turns only some away, such as a list of blocked addresses, decides
// nothing; one that lets only some in leaves open whether a certain peer is let in. Pure; takes
// time in the length of the text, whatever its chains.
Input InputOf(absl::string_view iptables_save, const PortRange& high);

// The combined effect of iptables-save and `nft list ruleset`; nothing for one that was not read. A
// connection has to pass both: one that turns it away decides, and both have to be known before it
// counts as let in. Pure.
Input BothOf(std::optional<Input> iptables, std::optional<Input> nft);

// net.firewall.
absl::StatusOr<CheckOutput> CheckFirewall(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_FIREWALL_H_
