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

// "10.4.0.0/16", "fd00:4::/32". INVALID_ARGUMENT it is none. Pure, as all here.
absl::StatusOr<Network> ParseNetwork(absl::string_view text);

// Where execution may reach a node that registers from `caller` (as gRPC writes it,
// "ipv4:10.4.0.7:41822"; "" or a Unix socket is this machine) and says `address`, which
// CheckRegistration() takes: at the caller's own address, or within `networks`, where the site says
// that its nodes are. What is neither could be any service that execution reaches and the node does
// not. A name stands for the caller's own address, and is not looked up: who answers for it may say
// another one tomorrow. PERMISSION_DENIED names both.
absl::StatusOr<std::string> OwnAddress(absl::string_view address, absl::string_view caller,
                                       const std::vector<Network>& networks);

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_OWN_ADDRESS_H_
