#include "services/execution/execution_service.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/rpc/authorizer.h"
#include "common/rpc/observe.h"
#include "common/rpc/status.h"
#include "common/rpc/stream.h"
#include "common/rpc/unary.h"
#include "common/security/identity.h"
#include "common/trace/trace.h"
#include "services/execution/cancel_list.h"
#include "services/execution/flow.h"

namespace galen::execution {
namespace {

// Streams what `run` gives. It never blocks and calls back, so the stream needs no thread of the
// executor.
template <typename Run>
rpc::ServerStream<galen::v1::CheckResult>* StreamResults(grpc::CallbackServerContext* context,
                                                         const absl::Status& allowed, Run run) {
  auto stream = rpc::ServerStream<galen::v1::CheckResult>::Start(kMaxQueuedResults);
  if (!allowed.ok()) {
    stream->End(allowed);
    return stream.get();
  }
  const auto call = std::make_shared<CancelList>();
  const auto flow =
      std::make_shared<Flow>([stream] { return stream->queued() >= kEnoughQueuedResults; });
  stream->OnReady([call, flow, stream = stream.get()] {
    if (!stream->alive()) {
      call->CancelAll();
    } else {
      flow->Resume();
    }
  });
  call->Add(run(
      rpc::DeadlineOf(*context),
      [stream](galen::v1::CheckResult result) {
        if (!stream->Push(std::move(result)) && stream->alive()) {
          stream->End(absl::ResourceExhaustedError("the caller reads results too slowly"));
        }
      },
      [stream](const absl::Status& status) { stream->End(status); }, flow));
  return stream.get();
}

// A node speaks for the host of its certificate alone, where that names one.
absl::Status CheckSpeaker(const grpc::CallbackServerContext& context, const std::string& node) {
  grpc::string_ref uri;
  const std::shared_ptr<const grpc::AuthContext> connection = context.auth_context();
  if (connection == nullptr) return absl::OkStatus();
  const std::optional<security::Identity> peer = rpc::PeerOf(*connection, uri);
  if (!peer.has_value() || peer->instance.empty() || peer->instance == node) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "node ", CleanText(node, 64), ": the caller's certificate is of node ", peer->instance));
}

absl::Status NoRoster() {
  return absl::UnimplementedError("this execution agent takes no registrations");
}

}  // namespace

ExecutionServiceImpl::ExecutionServiceImpl(const CheckRunner& runner, NodeWatch& watch,
                                           Executor& executor, rpc::TenantGuard* guard,
                                           Roster* roster, DryRuns* dry_runs)
    : runner_(runner),
      watch_(watch),
      executor_(executor),
      guard_(guard),
      roster_(roster),
      dry_runs_(dry_runs) {}

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
  const absl::Status allowed = rpc::CheckTenant(guard_, *context, request->diagnosis());
  return StreamResults(
      context, allowed, [&](absl::Time deadline, auto on_result, auto done, const auto& flow) {
        return runner_.RunChecks(*request, deadline, std::move(on_result), std::move(done), flow);
      });
}

grpc::ServerWriteReactor<galen::v1::CheckResult>* ExecutionServiceImpl::RunShare(
    grpc::CallbackServerContext* context, const v1::RunChecksRequest* request) {
  const trace::Scope scope(rpc::WorkOf(*context));
  return StreamResults(context, absl::OkStatus(),
                       [&](absl::Time deadline, auto on_result, auto done, const auto& flow) {
                         return runner_.RunShare(*request, deadline, std::move(on_result),
                                                 std::move(done), flow);
                       });
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

grpc::ServerUnaryReactor* ExecutionServiceImpl::DryRunRepair(grpc::CallbackServerContext* context,
                                                             const v1::DryRunRepairRequest* request,
                                                             galen::v1::DryRun* response) {
  // A node that hangs must hold no thread that others need.
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const trace::Scope scope(rpc::WorkOf(*context));
  const auto end = [reactor, response](absl::StatusOr<galen::v1::DryRun> answer) {
    if (answer.ok()) *response = *std::move(answer);
    rpc::TellFault(answer.status());
    reactor->Finish(rpc::ToGrpcStatus(answer.status()));
  };
  if (const absl::Status allowed = rpc::CheckTenant(guard_, *context, request->diagnosis());
      !allowed.ok()) {
    end(allowed);
  } else if (dry_runs_ == nullptr) {
    end(absl::UnimplementedError("this execution agent makes no dry runs"));
  } else {
    dry_runs_->Start(*request, rpc::DeadlineOf(*context), end);
  }
  return reactor;
}

grpc::ServerUnaryReactor* ExecutionServiceImpl::RegisterNode(grpc::CallbackServerContext* context,
                                                             const v1::RegisterNodeRequest* request,
                                                             v1::RegisterNodeResponse* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call&) -> absl::Status {
    if (roster_ == nullptr) return NoRoster();
    GALEN_RETURN_IF_ERROR(CheckSpeaker(*context, request->node()));
    const absl::Duration ttl =
        absl::Seconds(request->ttl().seconds()) + absl::Nanoseconds(request->ttl().nanos());
    GALEN_ASSIGN_OR_RETURN(const absl::Duration again,
                           roster_->Register(request->node(), request->address(), ttl));
    const std::int64_t seconds = absl::ToInt64Seconds(again);
    response->mutable_again_in()->set_seconds(seconds);
    response->mutable_again_in()->set_nanos(
        static_cast<std::int32_t>(absl::ToInt64Nanoseconds(again - absl::Seconds(seconds))));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* ExecutionServiceImpl::WithdrawNode(grpc::CallbackServerContext* context,
                                                             const v1::WithdrawNodeRequest* request,
                                                             v1::WithdrawNodeResponse*) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call&) -> absl::Status {
    if (roster_ == nullptr) return NoRoster();
    GALEN_RETURN_IF_ERROR(CheckSpeaker(*context, request->node()));
    return roster_->Withdraw(request->node(), request->address());
  });
}

}  // namespace galen::execution
