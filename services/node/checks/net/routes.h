#ifndef SERVICES_NODE_CHECKS_NET_ROUTES_H_
#define SERVICES_NODE_CHECKS_NET_ROUTES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// A route of IPv4.
struct Route {
  std::uint32_t network = 0;  // host order
  int bits = 0;               // of the prefix
  bool refused = false;       // "unreachable", "blackhole", "prohibit"
  std::string netdev;
  std::string gateway;
  bool link_down = false;
};

// `ip -j route show`. INVALID_ARGUMENT: not such JSON. Pure.
absl::StatusOr<std::vector<Route>> ParseIpRoutes(absl::string_view json);

// The route that an address takes: the longest prefix, the first of equals. Pure.
std::optional<Route> RouteTo(const std::vector<Route>& routes, std::uint32_t address);

// "192.0.2.1" in host order; nothing for any other text. Pure.
std::optional<std::uint32_t> ParseIpv4(absl::string_view text);

// net.routes: is there a way to each peer: those of parameter `peers`, else those whose names were
// looked up, and the job's master.
absl::StatusOr<CheckOutput> CheckRoutes(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_NET_ROUTES_H_
