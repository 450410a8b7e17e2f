#ifndef COMMON_RPC_OBSERVE_H_
#define COMMON_RPC_OBSERVE_H_

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/client_interceptor.h>
#include <grpcpp/support/server_interceptor.h>

#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/observability/metrics/calls.h"
#include "common/observability/trace/trace.h"

// Observation of every server and every channel of the mesh: calls are counted
// (common/observability/metrics/calls.h), and carry their place in a trace
// (common/observability/trace/trace.h).
namespace galen::rpc {

// For ServerBuilder::experimental().SetInterceptorCreators(): counts what the server answers.
std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
ServerObservers();

// For a channel: counts what is called, and sends `traceparent` with a new span, and the name of
// the diagnosis, where the calling thread works on something (trace::Scope).
std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>>
ClientObservers();

// The same for a call whose maker sees its end anyway, without an interceptor: where a call has
// one, gRPC takes another turn of its queue for each operation, which is some 5 % of a call, and of
// each message of a stream. Not thread-safe; must live as long as the call.
class ClientCall {
 public:
  ~ClientCall();
  ClientCall() = default;
  ClientCall(const ClientCall&) = delete;
  ClientCall& operator=(const ClientCall&) = delete;
  // `start` makes the call with `context`, on a channel that has ClientObservers(), at once. May
  // come again after End().
  void Begin(grpc::ClientContext& context, absl::FunctionRef<void()> start);
  // Without it, it was given up.
  void End(grpc::StatusCode code);

 private:
  friend class ClientObserverFactory;
  metrics::Calls::Method* method_ = nullptr;  // of the call under way
  absl::Time begun_;
};

// The trace and the diagnosis of a received call, in a span of its own. The call starts a new trace
// when it has no traceparent, more than one, or an invalid one. The diagnosis is the caller's
// claim, and good for logs alone.
trace::Work WorkOf(const grpc::ServerContextBase& context);

// Whether servers of this process log a line for each call that they answer: method, status code,
// seconds, diagnosis and trace. Not at first.
void LogCalls(bool log);

// Logs an error that speaks of this process and not of its caller: INTERNAL, UNKNOWN, DATA_LOSS.
void TellFault(const absl::Status& status);

}  // namespace galen::rpc

#endif  // COMMON_RPC_OBSERVE_H_
