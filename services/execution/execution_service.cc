#include "services/execution/execution_service.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/observability/trace/trace.h"
#include "common/rpc/authorizer.h"
#include "common/rpc/observe.h"
#include "common/rpc/status.h"
#include "common/rpc/stream.h"
#include "common/rpc/unary.h"
#include "common/security/identity.h"
#include "services/execution/backpressure.h"
#include "services/execution/cancel_group.h"
#include "services/execution/membership_view.h"

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
  const auto call = std::make_shared<CancelGroup>();
  const auto backpressure =
      std::make_shared<Backpressure>([stream] { return stream->queued() >= kEnoughQueuedResults; });
  stream->OnReady([call, backpressure, stream = stream.get()] {
    if (!stream->alive()) {
      call->CancelAll();
    } else {
      backpressure->Resume();
    }
  });
  call->Add(run(
      rpc::DeadlineOf(*context),
      [stream](galen::v1::CheckResult result) {
        if (!stream->Push(std::move(result)) && stream->alive()) {
          stream->End(absl::ResourceExhaustedError("the caller reads results too slowly"));
        }
      },
      [stream](const absl::Status& status) { stream->End(status); }, backpressure));
  return stream.get();
}

// The caller that registers a node.
enum class Speaker { kTheNode, kAnyNode, kWithoutTls };

// A node speaks for the host of its certificate alone. One that names no host could be any node:
// whoever takes it from one machine speaks for all of them.
absl::StatusOr<Speaker> SpeakerOf(const grpc::CallbackServerContext& context,
                                  const std::string& node, bool shared_certificates) {
  grpc::string_ref uri;
  const std::shared_ptr<const grpc::AuthContext> connection = context.auth_context();
  if (connection == nullptr) return Speaker::kWithoutTls;
  const std::optional<security::Identity> peer = rpc::PeerOf(*connection, uri);
  if (!peer.has_value()) return Speaker::kWithoutTls;
  if (peer->instance == node && !node.empty()) return Speaker::kTheNode;
  if (!peer->instance.empty()) {
    return absl::PermissionDeniedError(absl::StrCat(
        "node ", CleanText(node, 64), ": the caller's certificate is of node ", peer->instance));
  }
  if (shared_certificates) return Speaker::kAnyNode;
  return absl::PermissionDeniedError(
      absl::StrCat("node ", CleanText(node, 64),
                   ": the caller's certificate names no node, so it could be any; give it one of "
                   "its own (galen certs new DIR --node HOST), or start execution with "
                   "--shared_node_certificates (docs/security.md)"));
}

// The gateway speaks for people beyond the edge, and is the one program that the internet reaches:
// of single checks it has those that only read, and has them look where the catalogue says.
absl::Status CheckGateway(const grpc::CallbackServerContext& context,
                          const v1::RunChecksRequest& request) {
  if (!request.allow_intrusive() && !request.allow_busy() && request.parameters().empty()) {
    return absl::OkStatus();
  }
  grpc::string_ref uri;
  const std::shared_ptr<const grpc::AuthContext> connection = context.auth_context();
  if (connection == nullptr) return absl::OkStatus();
  const std::optional<security::Identity> peer = rpc::PeerOf(*connection, uri);
  if (!peer.has_value() || peer->role != security::Role::kGateway) return absl::OkStatus();
  return absl::PermissionDeniedError(
      "a caller of role gateway has checks that only read run, without parameters");
}

absl::Status NoNodeDirectory() {
  return absl::UnimplementedError("this execution agent takes no registrations");
}

}  // namespace

ExecutionServiceImpl::ExecutionServiceImpl(const CheckRunner& runner, NodeWatch& watch,
                                           Executor& executor, rpc::TenantGuard* guard,
                                           NodeDirectory* node_directory, DryRuns* dry_runs,
                                           RegistrationRules rules)
    : runner_(runner),
      watch_(watch),
      executor_(executor),
      guard_(guard),
      node_directory_(node_directory),
      dry_runs_(dry_runs),
      rules_(std::move(rules)) {}

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
  absl::Status allowed = CheckGateway(*context, *request);
  if (allowed.ok()) allowed = rpc::CheckTenant(guard_, *context, request->diagnosis());
  return StreamResults(
      context, allowed,
      [&](absl::Time deadline, auto on_result, auto done, const auto& backpressure) {
        return runner_.RunChecks(*request, deadline, std::move(on_result), std::move(done),
                                 backpressure);
      });
}

grpc::ServerWriteReactor<galen::v1::CheckResult>* ExecutionServiceImpl::RunShare(
    grpc::CallbackServerContext* context, const v1::RunChecksRequest* request) {
  const trace::Scope scope(rpc::WorkOf(*context));
  return StreamResults(
      context, absl::OkStatus(),
      [&](absl::Time deadline, auto on_result, auto done, const auto& backpressure) {
        return runner_.RunShare(*request, deadline, std::move(on_result), std::move(done),
                                backpressure);
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

void ExecutionServiceImpl::TellMoved(const grpc::CallbackServerContext& context,
                                     const std::string& node, const std::string& from,
                                     const std::string& to) const {
  const std::string news = absl::StrCat("node ", node, " moved from ", from, " to ", to);
  rules_.tell(news);
  if (rules_.audit == nullptr) return;
  security::AuditRecord record;
  record.time = absl::Now();
  grpc::string_ref uri;
  if (const auto connection = context.auth_context();
      connection != nullptr && rpc::PeerOf(*connection, uri).has_value()) {
    record.peer.assign(uri.data(), uri.size());
  }
  record.address = context.peer();
  record.method = "/galen.execution.v1.ExecutionService/RegisterNode";
  record.resource = node;
  record.outcome = "OK";
  record.reason = news;
  rules_.audit->Put(record);
}

grpc::ServerUnaryReactor* ExecutionServiceImpl::RegisterNode(grpc::CallbackServerContext* context,
                                                             const v1::RegisterNodeRequest* request,
                                                             v1::RegisterNodeResponse* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call&) -> absl::Status {
    if (node_directory_ == nullptr) return NoNodeDirectory();
    GALEN_RETURN_IF_ERROR(CheckRegistration(request->node(), request->address()));
    GALEN_ASSIGN_OR_RETURN(const Speaker speaker,
                           SpeakerOf(*context, request->node(), rules_.shared_certificates));
    GALEN_ASSIGN_OR_RETURN(const std::string address,
                           OwnAddress(request->address(), context->peer(), rules_.networks));
    const absl::StatusOr<NodeDirectory::Registered> registered = node_directory_->Register(
        request->node(), address, ToDuration(request->ttl()), speaker != Speaker::kAnyNode);
    if (absl::IsAlreadyExists(registered.status())) {
      rules_.tell(absl::StrCat("refused: ", registered.status().message()));
    }
    GALEN_RETURN_IF_ERROR(registered.status());
    if (!registered->moved_from.empty()) {
      TellMoved(*context, request->node(), registered->moved_from, address);
    }
    *response->mutable_again_in() = ToProtoDuration(registered->again_in);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* ExecutionServiceImpl::WithdrawNode(grpc::CallbackServerContext* context,
                                                             const v1::WithdrawNodeRequest* request,
                                                             v1::WithdrawNodeResponse*) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call&) -> absl::Status {
    if (node_directory_ == nullptr) return NoNodeDirectory();
    GALEN_RETURN_IF_ERROR(CheckRegistration(request->node(), request->address()));
    GALEN_RETURN_IF_ERROR(
        SpeakerOf(*context, request->node(), rules_.shared_certificates).status());
    // By whom it registered: what stands elsewhere is another's.
    GALEN_ASSIGN_OR_RETURN(const std::string address,
                           OwnAddress(request->address(), context->peer(), rules_.networks));
    return node_directory_->Withdraw(request->node(), address);
  });
}

}  // namespace galen::execution
