#include "services/planning/planning_service.h"

#include "common/base/status_macros.h"
#include "common/rpc/unary.h"

namespace galen::planning {

grpc::ServerUnaryReactor* PlanningServiceImpl::ProposeFromHistory(
    grpc::CallbackServerContext* context, const v1::ProposeFromHistoryRequest* request,
    v1::ProposeFromHistoryResponse* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call& call) -> absl::Status {
    GALEN_ASSIGN_OR_RETURN(*response, CallWithFallback(planner_, [&](const Planner& current) {
      return current.ProposeFromHistory(*request, call.deadline);
    }));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* PlanningServiceImpl::RankChildren(grpc::CallbackServerContext* context,
                                                            const v1::RankChildrenRequest* request,
                                                            v1::RankChildrenResponse* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call& call) -> absl::Status {
    GALEN_ASSIGN_OR_RETURN(*response, CallWithFallback(planner_, [&](const Planner& current) {
      return current.RankChildren(*request, call.deadline);
    }));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* PlanningServiceImpl::Screen(grpc::CallbackServerContext* context,
                                                      const v1::ScreenRequest* request,
                                                      v1::ScreenResponse* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call& call) -> absl::Status {
    GALEN_ASSIGN_OR_RETURN(*response, CallWithFallback(planner_, [&](const Planner& current) {
      return current.Screen(*request, call.deadline);
    }));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* PlanningServiceImpl::ProposeAtOnce(
    grpc::CallbackServerContext* context, const v1::ProposeAtOnceRequest* request,
    v1::ProposeAtOnceResponse* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call& call) -> absl::Status {
    GALEN_ASSIGN_OR_RETURN(*response, CallWithFallback(planner_, [&](const Planner& current) {
      return current.ProposeAtOnce(*request, call.deadline);
    }));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* PlanningServiceImpl::ListCauses(grpc::CallbackServerContext* context,
                                                          const v1::ListCausesRequest*,
                                                          v1::ListCausesResponse* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call&) {
    *response = planner_.Get()->ListCauses();
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* PlanningServiceImpl::Explore(grpc::CallbackServerContext* context,
                                                       const v1::ExploreRequest* request,
                                                       v1::ExploreResponse* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call& call) -> absl::Status {
    GALEN_ASSIGN_OR_RETURN(*response, CallWithFallback(planner_, [&](const Planner& current) {
      return current.Explore(*request, call.deadline);
    }));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* PlanningServiceImpl::Consult(grpc::CallbackServerContext* context,
                                                       const v1::ConsultRequest* request,
                                                       v1::ConsultResponse* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call& call) -> absl::Status {
    GALEN_ASSIGN_OR_RETURN(*response, CallWithFallback(planner_, [&](const Planner& current) {
      return current.Consult(*request, call.deadline);
    }));
    return absl::OkStatus();
  });
}

}  // namespace galen::planning
