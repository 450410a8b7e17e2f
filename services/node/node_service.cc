#include "services/node/node_service.h"

#include <utility>

#include "common/rpc/stream.h"
#include "common/rpc/unary.h"

namespace galen::node {

NodeServiceImpl::NodeServiceImpl(const NodeExecutor& node, Executor& executor)
    : node_(node), executor_(executor) {}

grpc::ServerWriteReactor<galen::v1::CheckResult>* NodeServiceImpl::RunChecks(
    grpc::CallbackServerContext* context, const v1::RunChecksRequest* request) {
  // gRPC keeps the request only until the call ends, which a slow check may outlast.
  return rpc::RunServerStream<galen::v1::CheckResult>(
      context, executor_,
      [this, request = *request](const rpc::Call& call,
                                 rpc::StreamWriter<galen::v1::CheckResult>& writer) {
        return node_.RunChecks(request, call.deadline, [&](galen::v1::CheckResult result) {
          writer.Write(std::move(result));
        });
      });
}

grpc::ServerUnaryReactor* NodeServiceImpl::Describe(grpc::CallbackServerContext* context,
                                                    const v1::DescribeRequest*,
                                                    v1::DescribeResponse* response) {
  return rpc::RunUnary(context, executor_, [this, response](const rpc::Call&) {
    *response = node_.Describe();
    return absl::OkStatus();
  });
}

}  // namespace galen::node
