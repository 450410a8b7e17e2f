#ifndef SERVICES_NODE_CHECKS_SYSTEM_NFT_RULES_H_
#define SERVICES_NODE_CHECKS_SYSTEM_NFT_RULES_H_

#include "absl/strings/string_view.h"
#include "services/node/checks/system/packet_filter.h"

namespace galen::node {

// The effect of `nft list ruleset` on new connections over IPv4 to the ports `high`: every chain
// with `hook input` of a table of family ip or inet has to let them pass. Rules are taken as those
// of iptables are (firewall.h). A rule that is cut off, a verdict of a program, a map that is
// listed elsewhere, and a text without its end are not judged and leave the result kSome. With
// `iptables_is_read` only kClosed is reported for chain INPUT of table ip filter: iptables keeps
// its own rules there, which iptables-save prints. Pure; takes time in the length of the text.
Input InputOfNft(absl::string_view ruleset, const PortRange& high, bool iptables_is_read);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_NFT_RULES_H_
