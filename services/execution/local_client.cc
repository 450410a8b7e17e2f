#include "services/execution/local_client.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "common/observability/metrics/calls.h"

namespace galen::execution {

LocalExecutionClient::LocalExecutionClient(const CheckRunner& runner, Executor& executor,
                                           NodeWatch* watch)
    : runner_(runner), executor_(executor), watch_(watch) {}

void LocalExecutionClient::ResolveNodes(const v1::ResolveNodesRequest& request, absl::Time,
                                        clients::Done<v1::ResolveNodesResponse> done) {
  clients::CallLocally<v1::ResolveNodesResponse>(
      executor_, "/galen.execution.v1.ExecutionService/ResolveNodes",
      [this, request] { return runner_.ResolveNodes(request); }, std::move(done));
}

clients::Cancel LocalExecutionClient::RunChecks(
    const v1::RunChecksRequest& request, absl::Time deadline,
    clients::OnMessage<galen::v1::CheckResult> on_result,
    absl::AnyInvocable<void(absl::Status) &&> done) {
  return runner_.RunChecks(
      request, deadline, std::move(on_result),
      [counted = metrics::LocalCall("/galen.execution.v1.ExecutionService/RunChecks"),
       done = std::move(done)](absl::Status status) mutable {
        counted.End(status);
        std::move(done)(std::move(status));
      });
}

clients::Cancel LocalExecutionClient::WatchNodes(const v1::WatchNodesRequest& request,
                                                 clients::OnMessage<v1::NodeEvent> on_event,
                                                 absl::AnyInvocable<void(absl::Status) &&> done) {
  if (watch_ == nullptr) {
    std::move(done)(absl::UnimplementedError("this process watches no node"));
    return clients::NoCancel();
  }
  struct Call {
    clients::OnMessage<v1::NodeEvent> on_event;
    absl::AnyInvocable<void(absl::Status) &&> done;
    std::atomic<bool> ended = false;
  };
  const auto call = std::make_shared<Call>();
  call->on_event = std::move(on_event);
  call->done = std::move(done);
  const absl::StatusOr<std::int64_t> watcher = watch_->Watch(request, [call](v1::NodeEvent event) {
    call->on_event(std::move(event));
    return true;
  });
  if (!watcher.ok()) {
    std::move(call->done)(watcher.status());
    return clients::NoCancel();
  }
  return [watch = watch_, id = *watcher, call] {
    watch->Leave(id);
    if (!call->ended.exchange(true)) {
      std::move(call->done)(absl::CancelledError("the caller went away"));
    }
  };
}

}  // namespace galen::execution
