#ifndef SERVICES_PLANNING_PLANNING_SERVICE_H_
#define SERVICES_PLANNING_PLANNING_SERVICE_H_

#include <utility>

#include "common/base/executor.h"
#include "common/base/hot_swap.h"
#include "galen/planning/v1/planning.grpc.pb.h"
#include "services/planning/planner.h"

namespace galen::planning {

// gRPC's side of Planner: conversion only.
class PlanningServiceImpl final : public v1::PlanningService::CallbackService {
 public:
  // Each call uses the version that is current at its start. `executor` must outlive the service.
  PlanningServiceImpl(HotSwap<Planner> planner, Executor& executor)
      : planner_(std::move(planner)), executor_(executor) {}
  grpc::ServerUnaryReactor* ProposeFromHistory(grpc::CallbackServerContext* context,
                                               const v1::ProposeFromHistoryRequest* request,
                                               v1::ProposeFromHistoryResponse* response) override;
  grpc::ServerUnaryReactor* RankChildren(grpc::CallbackServerContext* context,
                                         const v1::RankChildrenRequest* request,
                                         v1::RankChildrenResponse* response) override;
  grpc::ServerUnaryReactor* Screen(grpc::CallbackServerContext* context,
                                   const v1::ScreenRequest* request,
                                   v1::ScreenResponse* response) override;
  grpc::ServerUnaryReactor* ProposeAtOnce(grpc::CallbackServerContext* context,
                                          const v1::ProposeAtOnceRequest* request,
                                          v1::ProposeAtOnceResponse* response) override;
  grpc::ServerUnaryReactor* ListCauses(grpc::CallbackServerContext* context,
                                       const v1::ListCausesRequest* request,
                                       v1::ListCausesResponse* response) override;
  grpc::ServerUnaryReactor* Explore(grpc::CallbackServerContext* context,
                                    const v1::ExploreRequest* request,
                                    v1::ExploreResponse* response) override;
  grpc::ServerUnaryReactor* Consult(grpc::CallbackServerContext* context,
                                    const v1::ConsultRequest* request,
                                    v1::ConsultResponse* response) override;

 private:
  const HotSwap<Planner> planner_;
  Executor& executor_;
};

}  // namespace galen::planning

#endif  // SERVICES_PLANNING_PLANNING_SERVICE_H_
