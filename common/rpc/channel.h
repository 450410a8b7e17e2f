#ifndef COMMON_RPC_CHANNEL_H_
#define COMMON_RPC_CHANNEL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/rpc/security.h"

namespace grpc {
class Channel;
}

namespace galen::rpc {

// A channel to a service of role `peer`: reconnects within a second, keepalive, no retries (the
// orchestrator owns them) but for a call that a connection which was just ending never sent. One
// address at a time: gRPC 1.51's round_robin crashes on a peer that talks garbage
// (docs/decisions/004-one-address-at-a-time.md). FAILED_PRECONDITION when `target` is not loopback
// and there are no certificates. `security` must outlive the channel.
absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(const std::string& target,
                                                       const Security& security, const Peer& peer);

}  // namespace galen::rpc

#endif  // COMMON_RPC_CHANNEL_H_
