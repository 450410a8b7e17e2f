#ifndef COMMON_RPC_CHANNEL_H_
#define COMMON_RPC_CHANNEL_H_

#include <memory>
#include <string>

namespace grpc {
class Channel;
}

namespace galen::rpc {

// A channel to a service: round robin over what the name resolves to, reconnects within a second,
// keepalive, no retries (the orchestrator owns them).
std::shared_ptr<grpc::Channel> Connect(const std::string& target);

}  // namespace galen::rpc

#endif  // COMMON_RPC_CHANNEL_H_
