#include "common/rpc/unary.h"

#include <chrono>
#include <utility>

#include "common/base/retry_hint.h"
#include "common/base/steady.h"
#include "common/observability/trace/trace.h"
#include "common/rpc/observe.h"

namespace galen::rpc {

absl::Time DeadlineOf(const grpc::CallbackServerContext& context) {
  // gRPC gives time_point::max() when there is none; absl would read that as some year 2262.
  const auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return absl::InfiniteFuture();
  return absl::FromChrono(deadline);
}

absl::Status OverloadedError() {
  return WithRetryAfter(absl::ResourceExhaustedError("this server is at its concurrency limit"),
                        absl::Seconds(1));
}

grpc::ServerUnaryReactor* RunUnary(grpc::CallbackServerContext* context, Executor& executor,
                                   absl::AnyInvocable<absl::Status(const Call&) &&> handler) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  // The clock may be set while the call waits for its turn.
  const absl::Time due = ToSteady(DeadlineOf(*context));
  const bool taken = executor.TrySchedule([=, handler = std::move(handler)]() mutable {
    const trace::Scope scope(WorkOf(*context));
    if (context->IsCancelled()) {
      reactor->Finish(grpc::Status::CANCELLED);
    } else if (due <= SteadyNow()) {
      reactor->Finish(
          ToGrpcStatus(absl::DeadlineExceededError("the deadline passed in the queue")));
    } else {
      const absl::Status status = std::move(handler)(Call{ToTimeOfDay(due)});
      TellFault(status);
      reactor->Finish(ToGrpcStatus(status));
    }
  });
  if (!taken) {
    reactor->Finish(ToGrpcStatus(OverloadedError()));
  }
  return reactor;
}

}  // namespace galen::rpc
