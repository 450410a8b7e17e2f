#include "services/conclusion/conclusion_service.h"

#include "common/base/status_macros.h"
#include "common/rpc/unary.h"

namespace galen::conclusion {

grpc::ServerUnaryReactor* ConclusionServiceImpl::Conclude(grpc::CallbackServerContext* context,
                                                          const v1::ConcludeRequest* request,
                                                          v1::ConcludeResponse* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call& call) -> absl::Status {
    GALEN_ASSIGN_OR_RETURN(*response, CallWithFallback(writer_, [&](const ReportWriter& current) {
      return current.Conclude(*request, call.deadline);
    }));
    return absl::OkStatus();
  });
}

}  // namespace galen::conclusion
