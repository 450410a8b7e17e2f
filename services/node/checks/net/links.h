#ifndef SERVICES_NODE_CHECKS_NET_LINKS_H_
#define SERVICES_NODE_CHECKS_NET_LINKS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// A network interface as `ip link` shows it.
struct NetLink {
  std::string name;
  bool up = false;       // administratively up
  bool carrier = false;  // LOWER_UP: there is a link
  std::string state;     // "UP", "DOWN", "UNKNOWN"
  std::string kind;      // "ether", "infiniband", "loopback"
  std::string master;    // bond or bridge it belongs to
  std::int64_t mtu = 0;
  // Since the interface was created; nothing if not reported.
  std::optional<std::int64_t> errors;
  std::optional<std::int64_t> dropped;
};

// `ip -j [-s] link show`. INVALID_ARGUMENT: not such JSON. Pure.
absl::StatusOr<std::vector<NetLink>> ParseIpLinkJson(absl::string_view json);

// The link settings in the output of `ethtool <netdev>`: nothing where unknown.
struct EthtoolSettings {
  std::string netdev;
  std::optional<double> speed_mbps;
  std::optional<bool> link;
};
// INVALID_ARGUMENT: not such output. Linear. Pure.
absl::StatusOr<EthtoolSettings> ParseEthtoolSettings(absl::string_view text);

// Counters of `ethtool -S`. INVALID_ARGUMENT: none in it. Linear. Pure.
absl::StatusOr<std::map<std::string, std::int64_t>> ParseEthtoolStatistics(absl::string_view text);

// net.interfaces: state, speed and, on a live host, what grew between two reads as far apart as
// parameter `window` says.
absl::StatusOr<CheckOutput> CheckInterfaces(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_NET_LINKS_H_
