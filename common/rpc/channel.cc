#include "common/rpc/channel.h"

#include <grpcpp/grpcpp.h>

#include "common/rpc/observe.h"
#include "common/rpc/serve.h"

namespace galen::rpc {

std::shared_ptr<grpc::Channel> Connect(const std::string& target) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // A peer that restarts should be found again soon; the default backs off to two minutes.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10000);
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      target, grpc::InsecureChannelCredentials(), arguments, ClientObservers());
}

}  // namespace galen::rpc
