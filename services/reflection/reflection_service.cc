#include "services/reflection/reflection_service.h"

#include "common/base/status_macros.h"
#include "common/rpc/unary.h"

namespace galen::reflection {

grpc::ServerUnaryReactor* ReflectionServiceImpl::Judge(grpc::CallbackServerContext* context,
                                                       const v1::JudgeRequest* request,
                                                       v1::JudgeResponse* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call& call) -> absl::Status {
    GALEN_ASSIGN_OR_RETURN(*response, CallWithFallback(reflector_, [&](const Reflector& current) {
      return current.Judge(*request, call.deadline);
    }));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* ReflectionServiceImpl::Critique(grpc::CallbackServerContext* context,
                                                          const v1::CritiqueRequest* request,
                                                          v1::CritiqueResponse* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call& call) -> absl::Status {
    GALEN_ASSIGN_OR_RETURN(*response, CallWithFallback(reflector_, [&](const Reflector& current) {
      return current.Critique(*request, call.deadline);
    }));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* ReflectionServiceImpl::Investigate(grpc::CallbackServerContext* context,
                                                             const v1::InvestigateRequest* request,
                                                             v1::InvestigateResponse* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call& call) -> absl::Status {
    GALEN_ASSIGN_OR_RETURN(*response, CallWithFallback(reflector_, [&](const Reflector& current) {
      return current.Investigate(*request, call.deadline);
    }));
    return absl::OkStatus();
  });
}

}  // namespace galen::reflection
