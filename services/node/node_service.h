#ifndef SERVICES_NODE_NODE_SERVICE_H_
#define SERVICES_NODE_NODE_SERVICE_H_

#include "common/base/executor.h"
#include "galen/node/v1/node.grpc.pb.h"
#include "services/node/executor.h"
#include "services/node/repair/repairer.h"
#include "services/node/watch/event_hub.h"

namespace galen::node {

// gRPC's side of NodeExecutor: conversion only.
class NodeServiceImpl final : public v1::NodeService::CallbackService {
 public:
  // All must outlive the service, and `node` what `executor` still does. `hub`: of this machine's
  // watch; nullptr: it is not watched. `repairer`: nullptr: nothing is carried out here.
  NodeServiceImpl(const NodeExecutor& node, Executor& executor, EventHub* hub = nullptr,
                  Repairer* repairer = nullptr);
  grpc::ServerWriteReactor<galen::v1::CheckResult>* RunChecks(
      grpc::CallbackServerContext* context, const v1::RunChecksRequest* request) override;
  grpc::ServerWriteReactor<v1::WatchEvent>* Watch(grpc::CallbackServerContext* context,
                                                  const v1::WatchRequest* request) override;
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context,
                                     const v1::DescribeRequest* request,
                                     v1::DescribeResponse* response) override;
  grpc::ServerUnaryReactor* Repair(grpc::CallbackServerContext* context,
                                   const v1::RepairRequest* request,
                                   v1::RepairResponse* response) override;

 private:
  const NodeExecutor& node_;
  Executor& executor_;
  EventHub* const hub_;
  Repairer* const repairer_;
};

}  // namespace galen::node

#endif  // SERVICES_NODE_NODE_SERVICE_H_
