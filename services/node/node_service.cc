#include "services/node/node_service.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "common/base/status_macros.h"
#include "common/rpc/stream.h"
#include "common/rpc/unary.h"

namespace galen::node {

namespace {

// Events that may wait for a slow caller. The first lines of a storm in the kernel log identify it.
constexpr std::size_t kMaxQueuedEvents = 1024;

}  // namespace

NodeServiceImpl::NodeServiceImpl(const NodeExecutor& node, Executor& executor, EventHub* hub,
                                 Repairer* repairer)
    : node_(node), executor_(executor), hub_(hub), repairer_(repairer) {}

grpc::ServerWriteReactor<galen::v1::CheckResult>* NodeServiceImpl::RunChecks(
    grpc::CallbackServerContext* context, const v1::RunChecksRequest* request) {
  // gRPC keeps the request, and the server this service, only until the call ends. A slow check may
  // outlast that, and so may a call that is cancelled before its turn.
  return rpc::RunServerStream<galen::v1::CheckResult>(
      context, executor_,
      [&node = node_, request = *request](
          const rpc::Call& call, rpc::StreamWriter<galen::v1::CheckResult>& writer) mutable {
        const auto run = [&] {
          return node.RunChecks(
              request, call.deadline,
              [&](galen::v1::CheckResult result) { writer.Write(std::move(result)); },
              *call.cancelled);
        };
        absl::Status status = run();
        for (const std::string& name : request.more_nodes()) {
          if (call.cancelled->cancelled()) break;
          request.set_node(name);
          status.Update(run());
        }
        return status;
      });
}

grpc::ServerWriteReactor<v1::WatchEvent>* NodeServiceImpl::Watch(grpc::CallbackServerContext*,
                                                                 const v1::WatchRequest*) {
  auto stream = rpc::ServerStream<v1::WatchEvent>::Start(kMaxQueuedEvents);
  if (hub_ == nullptr) {
    stream->End(absl::UnimplementedError("this node executor watches nothing"));
    return stream.get();
  }
  // The number is known only once the hub has taken the listener, which may be called before.
  struct Place {
    std::atomic<std::int64_t> listener = -1;
  };
  const auto place = std::make_shared<Place>();
  stream->OnReady([hub = hub_, place, stream = stream.get()] {
    if (!stream->alive()) hub->Leave(place->listener);
  });
  const absl::StatusOr<std::int64_t> listener =
      hub_->Listen([stream](const v1::WatchEvent& event) { return stream->Push(event); },
                   [stream](const absl::Status& status) { stream->End(status); });
  if (!listener.ok()) {
    stream->End(listener.status());
    return stream.get();
  }
  place->listener = *listener;
  // The caller may have gone before the number was known.
  if (!stream->alive()) hub_->Leave(*listener);
  return stream.get();
}

grpc::ServerUnaryReactor* NodeServiceImpl::Describe(grpc::CallbackServerContext* context,
                                                    const v1::DescribeRequest*,
                                                    v1::DescribeResponse* response) {
  return rpc::RunUnary(context, executor_, [this, response](const rpc::Call&) {
    *response = node_.Describe();
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* NodeServiceImpl::Repair(grpc::CallbackServerContext* context,
                                                  const v1::RepairRequest* request,
                                                  v1::RepairResponse* response) {
  return rpc::RunUnary(
      context, executor_, [this, request, response](const rpc::Call&) -> absl::Status {
        if (repairer_ == nullptr) {
          return absl::UnimplementedError("this node executor carries nothing out (--repairs)");
        }
        GALEN_ASSIGN_OR_RETURN(*response, repairer_->Repair(*request));
        return absl::OkStatus();
      });
}

}  // namespace galen::node
