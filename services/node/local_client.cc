#include "services/node/local_client.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "common/base/cancellation.h"
#include "common/observability/metrics/calls.h"
#include "common/observability/trace/trace.h"

namespace galen::node {

LocalNodeClient::LocalNodeClient(const NodeExecutor& node, Executor& executor, EventHub* hub)
    : node_(node), executor_(executor), hub_(hub) {}

clients::Cancel LocalNodeClient::RunChecks(const v1::RunChecksRequest& request, absl::Time deadline,
                                           clients::OnMessage<galen::v1::CheckResult> on_result,
                                           absl::AnyInvocable<void(absl::Status) &&> done) {
  // The queue takes the task or not, so both ends share the call.
  struct Call {
    metrics::LocalCall counted;
    absl::AnyInvocable<void(absl::Status) &&> done;
    void End(absl::Status status) {
      counted.End(status);
      std::move(done)(std::move(status));
    }
  };
  auto call = std::make_shared<Call>(
      Call{metrics::LocalCall("/galen.node.v1.NodeService/RunChecks"), std::move(done)});
  auto cancelled = std::make_shared<Cancellation>();
  const bool taken = executor_.TrySchedule([&node = node_, request, deadline, cancelled,
                                            on_result = std::move(on_result), call,
                                            caller = trace::Current()]() mutable {
    const trace::Scope scope(std::move(caller));
    absl::Status status = node.RunChecks(
        request, deadline, [&](galen::v1::CheckResult result) { on_result(std::move(result)); },
        *cancelled);
    call->End(std::move(status));
  });
  if (!taken) {
    call->End(absl::ResourceExhaustedError("this process is at its concurrency limit"));
  }
  return [cancelled] { cancelled->Cancel(); };
}

clients::Cancel LocalNodeClient::Watch(const v1::WatchRequest&,
                                       clients::OnMessage<v1::WatchEvent> on_event,
                                       absl::AnyInvocable<void(absl::Status) &&> done) {
  if (hub_ == nullptr) {
    std::move(done)(absl::UnimplementedError("this node executor watches nothing"));
    return clients::NoCancel();
  }
  // The call ends once: by the hub, or by its caller.
  struct Call {
    clients::OnMessage<v1::WatchEvent> on_event;
    absl::AnyInvocable<void(absl::Status) &&> done;
    std::atomic<bool> ended = false;
    void End(const absl::Status& status) {
      if (!ended.exchange(true)) std::move(done)(status);
    }
  };
  const auto call = std::make_shared<Call>();
  call->on_event = std::move(on_event);
  call->done = std::move(done);
  const absl::StatusOr<std::int64_t> listener = hub_->Listen(
      [call](const v1::WatchEvent& event) {
        call->on_event(event);
        return true;
      },
      [call](const absl::Status& status) { call->End(status); });
  if (!listener.ok()) {
    call->End(listener.status());
    return clients::NoCancel();
  }
  return [hub = hub_, id = *listener, call] {
    hub->Leave(id);
    call->End(absl::CancelledError("the caller went away"));
  };
}

void LocalNodeClient::Describe(const v1::DescribeRequest&, absl::Time,
                               clients::Done<v1::DescribeResponse> done) {
  clients::CallLocally<v1::DescribeResponse>(
      executor_, "/galen.node.v1.NodeService/Describe", [this] { return node_.Describe(); },
      std::move(done));
}

}  // namespace galen::node
