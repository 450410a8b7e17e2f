#ifndef SERVICES_EXECUTION_OWN_ADDRESS_H_
#define SERVICES_EXECUTION_OWN_ADDRESS_H_

#include <array>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::execution {

// Addresses that begin alike; those of IPv4 as IPv6 maps them.
struct Network {
  std::array<unsigned char, 16> begin{};
  int bits = 0;
};

// Parses "10.4.0.0/16" or "fd00:4::/32". INVALID_ARGUMENT: not a network. Pure, like all functions
// here.
absl::StatusOr<Network> ParseNetwork(absl::string_view text);

// The address at which execution may reach a node that registers from `caller` (as gRPC writes it,
// "ipv4:10.4.0.7:41822"; "" or a Unix socket is this machine) with `address`, which
// CheckRegistration() accepts: the caller's own address, or one within `networks`, which the site
// declares for its nodes. Any other address could be a service that execution reaches and the node
// does not. A name means the caller's own address and is not resolved: its DNS answer may change
// tomorrow. PERMISSION_DENIED names both.
absl::StatusOr<std::string> OwnAddress(absl::string_view address, absl::string_view caller,
                                       const std::vector<Network>& networks);

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_OWN_ADDRESS_H_
