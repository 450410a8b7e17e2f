#ifndef SERVICES_NODE_NODE_SERVICE_H_
#define SERVICES_NODE_NODE_SERVICE_H_

#include "common/base/executor.h"
#include "galen/node/v1/node.grpc.pb.h"
#include "services/node/executor.h"

namespace galen::node {

// gRPC's side of NodeExecutor: conversion only.
class NodeServiceImpl final : public v1::NodeService::CallbackService {
 public:
  // Both must outlive the service.
  NodeServiceImpl(const NodeExecutor& node, Executor& executor);
  grpc::ServerWriteReactor<galen::v1::CheckResult>* RunChecks(
      grpc::CallbackServerContext* context, const v1::RunChecksRequest* request) override;
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context,
                                     const v1::DescribeRequest* request,
                                     v1::DescribeResponse* response) override;

 private:
  const NodeExecutor& node_;
  Executor& executor_;
};

}  // namespace galen::node

#endif  // SERVICES_NODE_NODE_SERVICE_H_
