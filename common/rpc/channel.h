#ifndef COMMON_RPC_CHANNEL_H_
#define COMMON_RPC_CHANNEL_H_

#include <memory>
#include <string>

namespace grpc {
class Channel;
}

namespace galen::rpc {

// A channel to a service: reconnects within a second, keepalive, no retries (the orchestrator owns
// them). One address at a time: gRPC 1.51's round_robin crashes on a peer that talks garbage
// (docs/decisions/004-one-address-at-a-time.md).
std::shared_ptr<grpc::Channel> Connect(const std::string& target);

}  // namespace galen::rpc

#endif  // COMMON_RPC_CHANNEL_H_
