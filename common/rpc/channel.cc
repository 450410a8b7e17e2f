#include "common/rpc/channel.h"

#include <grpcpp/grpcpp.h>

#include "common/base/status_macros.h"
#include "common/rpc/observe.h"
#include "common/rpc/serve.h"

namespace galen::rpc {

absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(const std::string& target,
                                                       const Security& security, const Peer& peer) {
  GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ChannelCredentials> credentials,
                         security.ForChannel(target, peer));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  // Nobody here compresses what it sends; not to be able to spares each call a filter.
  arguments.SetInt(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
  // With TLS a server ends connections that have become old. GRPC_ARG_ENABLE_RETRIES then covers
  // calls that were not yet sent when their connection ended; no retry policy covers any other.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, security.tls() ? 1 : 0);
  // Else gRPC asks for the host, by its number if need be, and the server complains in its log.
  if (security.tls()) arguments.SetSslTargetNameOverride(security.ServerNameOf(peer));
  // A peer that restarts should be found again soon; the default backs off to two minutes.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10000);
  return grpc::experimental::CreateCustomChannelWithInterceptors(target, credentials, arguments,
                                                                 ClientObservers());
}

}  // namespace galen::rpc
