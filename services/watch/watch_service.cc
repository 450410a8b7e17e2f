#include "services/watch/watch_service.h"

#include "common/rpc/status.h"

namespace galen::watch {

grpc::ServerUnaryReactor* WatchServiceImpl::ReportHealth(grpc::CallbackServerContext* context,
                                                         const v1::ReportHealthRequest* request,
                                                         v1::ReportHealthResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  // The health intake answers from its own thread, once the events are on disk.
  intake_.Report(*request, [reactor, response](const absl::StatusOr<std::int64_t>& position) {
    if (position.ok()) response->set_position(*position);
    reactor->Finish(rpc::ToGrpcStatus(position.status()));
  });
  return reactor;
}

}  // namespace galen::watch
