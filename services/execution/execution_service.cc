#include "services/execution/execution_service.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "common/base/status_macros.h"
#include "common/rpc/observe.h"
#include "common/rpc/stream.h"
#include "common/rpc/unary.h"
#include "common/trace/trace.h"
#include "services/execution/cancel_list.h"

namespace galen::execution {

ExecutionServiceImpl::ExecutionServiceImpl(const CheckRunner& runner, NodeWatch& watch,
                                           Executor& executor, rpc::TenantGuard* guard)
    : runner_(runner), watch_(watch), executor_(executor), guard_(guard) {}

grpc::ServerUnaryReactor* ExecutionServiceImpl::ResolveNodes(grpc::CallbackServerContext* context,
                                                             const v1::ResolveNodesRequest* request,
                                                             v1::ResolveNodesResponse* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call&) -> absl::Status {
    GALEN_RETURN_IF_ERROR(rpc::CheckTenant(guard_, *context, request->diagnosis()));
    GALEN_ASSIGN_OR_RETURN(*response, runner_.ResolveNodes(*request));
    return absl::OkStatus();
  });
}

grpc::ServerWriteReactor<galen::v1::CheckResult>* ExecutionServiceImpl::RunChecks(
    grpc::CallbackServerContext* context, const v1::RunChecksRequest* request) {
  const trace::Scope scope(rpc::WorkOf(*context));
  // The runner never blocks and calls back, so the stream needs no thread of the executor.
  auto stream = rpc::ServerStream<galen::v1::CheckResult>::Start(kMaxQueuedResults);
  const absl::Status allowed = rpc::CheckTenant(guard_, *context, request->diagnosis());
  if (!allowed.ok()) {
    stream->End(allowed);
    return stream.get();
  }
  const auto call = std::make_shared<CancelList>();
  stream->OnReady([call, stream = stream.get()] {
    if (!stream->alive()) call->CancelAll();
  });
  call->Add(runner_.RunChecks(
      *request, rpc::DeadlineOf(*context),
      [stream](galen::v1::CheckResult result) {
        if (!stream->Push(std::move(result)) && stream->alive()) {
          stream->End(absl::ResourceExhaustedError("the caller reads results too slowly"));
        }
      },
      [stream](const absl::Status& status) { stream->End(status); }));
  return stream.get();
}

grpc::ServerWriteReactor<v1::NodeEvent>* ExecutionServiceImpl::WatchNodes(
    grpc::CallbackServerContext*, const v1::WatchNodesRequest* request) {
  auto stream = rpc::ServerStream<v1::NodeEvent>::Start(kMaxQueuedEvents);
  // The number is known only once the watch has taken the watcher, which may be called before.
  const auto watcher = std::make_shared<std::atomic<std::int64_t>>(-1);
  stream->OnReady([this, watcher, stream = stream.get()] {
    if (!stream->alive()) watch_.Leave(*watcher);
  });
  const absl::StatusOr<std::int64_t> taken = watch_.Watch(
      *request, [stream](v1::NodeEvent event) { return stream->Push(std::move(event)); });
  if (!taken.ok()) {
    stream->End(taken.status());
    return stream.get();
  }
  *watcher = *taken;
  // The caller may have gone before the number was known.
  if (!stream->alive()) watch_.Leave(*taken);
  return stream.get();
}

}  // namespace galen::execution
