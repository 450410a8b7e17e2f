#include "services/summarization/summarization_service.h"

#include "common/base/status_macros.h"
#include "common/rpc/unary.h"

namespace galen::summarization {

grpc::ServerUnaryReactor* SummarizationServiceImpl::Summarize(grpc::CallbackServerContext* context,
                                                              const v1::SummarizeRequest* request,
                                                              v1::SummarizeResponse* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call& call) -> absl::Status {
    GALEN_ASSIGN_OR_RETURN(*response, CallWithFallback(summarizer_, [&](const Summarizer& current) {
      return current.Summarize(*request, call.deadline);
    }));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* SummarizationServiceImpl::Look(grpc::CallbackServerContext* context,
                                                         const v1::LookRequest* request,
                                                         v1::LookResponse* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call& call) -> absl::Status {
    GALEN_ASSIGN_OR_RETURN(*response, CallWithFallback(summarizer_, [&](const Summarizer& current) {
      return current.Look(*request, call.deadline);
    }));
    return absl::OkStatus();
  });
}

}  // namespace galen::summarization
