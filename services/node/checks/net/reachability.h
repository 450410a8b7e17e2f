#ifndef SERVICES_NODE_CHECKS_NET_REACHABILITY_H_
#define SERVICES_NODE_CHECKS_NET_REACHABILITY_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"
#include "services/node/checks/net/tcp/tcp.h"

namespace galen::node {

// The outcome of the connections to one address.
struct Reached {
  int attempts = 0;  // those that have an outcome: fewer than asked for, or none, as time ran out
  int failed = 0;
  std::string reason;           // of the last that failed
  bool refused = false;         // the host answered, and nothing listens there
  std::optional<int> path_mtu;  // bytes; as the kernel knows it of a connection
  double connect_ms = 0;        // of the quickest that came through
};

// Connects `attempts` times (1 to 100) and closes again. An attempt has failed when the peer's
// kernel refuses it, or has not taken it after `each`; one that the deadline cuts short does not
// count. CANCELLED.
absl::StatusOr<Reached> Reach(const SocketAddress& peer, int attempts, absl::Duration each,
                              const WaitLimits& limits);

// Lost packets in % of the summary that `ping` prints. INVALID_ARGUMENT: it holds none. Linear.
// Pure.
absl::StatusOr<double> ParsePingLoss(absl::string_view text);

// net.reachability, on a live host. With parameter `peers` ("192.0.2.1:29500,...") it connects to
// each; a peer that no time is left for is unknown. With `role` and `token` two nodes connect to
// each other: the server reports "listening on ADDRESS:PORT" as progress, the client connects
// there, `attempts` times, and sends the token each time ("reach TOKEN", answered with "reached").
// The server ends when the client sends "bye TOKEN".
absl::StatusOr<CheckOutput> CheckReachability(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_NET_REACHABILITY_H_
