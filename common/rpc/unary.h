#ifndef COMMON_RPC_UNARY_H_
#define COMMON_RPC_UNARY_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"
#include "common/base/executor.h"
#include "common/rpc/status.h"

namespace galen::rpc {

// The parts of a call that its handler may use.
struct Call {
  absl::Time deadline;  // InfiniteFuture when the caller set none
  // Set for a streaming call, cancelled when the client is gone. May outlive the call.
  std::shared_ptr<const Cancellation> cancelled = nullptr;
};

// The deadline of a call that a server received.
absl::Time DeadlineOf(const grpc::CallbackServerContext& context);

// RESOURCE_EXHAUSTED, and when to try again: what a server answers that takes no more.
absl::Status OverloadedError();

// Runs `handler` on `executor` and finishes the RPC with its status. Sheds load with
// RESOURCE_EXHAUSTED when the executor is full, and does not start work whose deadline has passed.
// gRPC's own threads never run domain code: there are as few as two of them on a small machine.
grpc::ServerUnaryReactor* RunUnary(grpc::CallbackServerContext* context, Executor& executor,
                                   absl::AnyInvocable<absl::Status(const Call&) &&> handler);

}  // namespace galen::rpc

#endif  // COMMON_RPC_UNARY_H_
