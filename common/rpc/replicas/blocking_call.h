#ifndef COMMON_RPC_REPLICAS_BLOCKING_CALL_H_
#define COMMON_RPC_REPLICAS_BLOCKING_CALL_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <optional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "common/rpc/replicas/replicas.h"

namespace galen::rpc {

// Calls `method` of `Service` at the next replica and waits for its answer in `response`. A call
// that reached no replica is repeated once at another one, if `again` allows it and there is one.
// `prepare` gets the context of each attempt, for its deadline and metadata. Returns gRPC's status
// of the last attempt: IsUnreachable() is true when it did not come from a service.
template <typename Service, typename Request, typename Response>
grpc::Status BlockingCall(Replicas& replicas,
                          grpc::Status (Service::Stub::*method)(grpc::ClientContext*,
                                                                const Request&, Response*),
                          const Request& request, Response& response, bool again,
                          absl::FunctionRef<void(grpc::ClientContext&)> prepare) {
  std::optional<Replicas::Turn> turn = replicas.Begin();
  for (;;) {
    Replica& replica = turn->replica();
    grpc::Status status;
    {
      grpc::ClientContext context;
      prepare(context);
      response.Clear();
      status = (replica.Stub<Service>().*method)(&context, request, &response);
    }
    const bool reached = !IsUnreachable(status);
    const std::string at = replica.address();
    turn->End(reached);
    turn.reset();
    if (reached || !std::exchange(again, false)) return status;
    std::optional<Replicas::Turn> other = replicas.BeginAgain(at);
    if (!other.has_value()) return status;
    turn.emplace(*std::move(other));
  }
}

}  // namespace galen::rpc

#endif  // COMMON_RPC_REPLICAS_BLOCKING_CALL_H_
