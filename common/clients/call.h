#ifndef COMMON_CLIENTS_CALL_H_
#define COMMON_CLIENTS_CALL_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/executor.h"
#include "common/observability/metrics/calls.h"
#include "common/observability/trace/trace.h"

namespace galen::clients {

// A request that both sides of a call may keep; nobody changes it.
template <typename Request>
using Shared = std::shared_ptr<const Request>;

// Receives the answer of a call, exactly once, on some thread of the client. It must not block.
template <typename Response>
using Done = absl::AnyInvocable<void(absl::StatusOr<Response>) &&>;

// Receives one message of a stream; calls never overlap.
template <typename Message>
using OnMessage = absl::AnyInvocable<void(Message)>;

// Asks a call to end early; it then ends with CANCELLED, or as it would have anyway. May be called
// at any time from any thread, more than once, and after the call's end. Never empty.
using Cancel = std::function<void()>;

// The Cancel of a call that cannot be ended early.
inline Cancel NoCancel() {
  return [] {};
}

// Answers a call by `work` on `executor`: how one process plays the whole mesh. RESOURCE_EXHAUSTED
// when the executor is full. `path` is that of the method in gRPC, "/package.Service/Method", a
// literal: the call is counted under it, and keeps the caller's trace.
template <typename Response>
void CallLocally(Executor& executor, const char* path,
                 absl::AnyInvocable<absl::StatusOr<Response>() &&> work, Done<Response> done) {
  // The queue takes one task or none, so both ends of the call share the callback.
  struct Call {
    metrics::LocalCall counted;
    Done<Response> done;
    void End(absl::StatusOr<Response> response) {
      counted.End(response.status());
      std::move(done)(std::move(response));
    }
  };
  auto call = std::make_shared<Call>(Call{metrics::LocalCall(path), std::move(done)});
  const bool taken =
      executor.TrySchedule([work = std::move(work), call, caller = trace::Current()]() mutable {
        const trace::Scope scope(std::move(caller));
        call->End(std::move(work)());
      });
  if (!taken) {
    call->End(absl::ResourceExhaustedError("this process is at its concurrency limit"));
  }
}

}  // namespace galen::clients

#endif  // COMMON_CLIENTS_CALL_H_
