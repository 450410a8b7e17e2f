#include "services/advisor/advisor_service.h"

#include "common/base/status_macros.h"
#include "common/rpc/status.h"
#include "common/rpc/unary.h"

namespace galen::advisor {
namespace {

// Methods that take microseconds and never wait are answered on the calling thread.
template <typename Answer, typename Response>
grpc::ServerUnaryReactor* AnswerAtOnce(grpc::CallbackServerContext* context,
                                       const absl::Status& allowed, Answer answer,
                                       Response* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  absl::Status status = allowed;
  if (status.ok()) {
    auto answered = answer();
    status = answered.status();
    if (answered.ok()) *response = *std::move(answered);
  }
  reactor->Finish(rpc::ToGrpcStatus(status));
  return reactor;
}

}  // namespace

grpc::ServerUnaryReactor* AdvisorServiceImpl::RegisterJob(grpc::CallbackServerContext* context,
                                                          const v1::RegisterJobRequest* request,
                                                          v1::RegisterJobResponse* response) {
  return AnswerAtOnce(
      context, rpc::CheckTenant(guard_, *context, request->parent()),
      [&] { return advisor_.RegisterJob(*request); }, response);
}

grpc::ServerUnaryReactor* AdvisorServiceImpl::ReportProgress(
    grpc::CallbackServerContext* context, const v1::ReportProgressRequest* request,
    v1::ReportProgressResponse* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call&) -> absl::Status {
    GALEN_RETURN_IF_ERROR(rpc::CheckTenant(guard_, *context, request->job()));
    GALEN_ASSIGN_OR_RETURN(*response, advisor_.ReportProgress(*request));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdvisorServiceImpl::ReportTest(grpc::CallbackServerContext* context,
                                                         const v1::ReportTestRequest* request,
                                                         v1::ReportTestResponse* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call&) -> absl::Status {
    GALEN_RETURN_IF_ERROR(rpc::CheckTenant(guard_, *context, request->job()));
    GALEN_ASSIGN_OR_RETURN(*response, advisor_.ReportTest(*request));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdvisorServiceImpl::ReportRuns(grpc::CallbackServerContext* context,
                                                         const v1::ReportRunsRequest* request,
                                                         v1::ReportRunsResponse* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call&) -> absl::Status {
    GALEN_ASSIGN_OR_RETURN(*response, advisor_.ReportRuns(*request));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdvisorServiceImpl::Learn(grpc::CallbackServerContext* context,
                                                    const v1::LearnRequest* /*request*/,
                                                    v1::LearnResponse* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call&) -> absl::Status {
    GALEN_ASSIGN_OR_RETURN(*response, advisor_.Learn());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdvisorServiceImpl::ListPatterns(
    grpc::CallbackServerContext* context, const v1::ListPatternsRequest* /*request*/,
    v1::ListPatternsResponse* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call&) -> absl::Status {
    *response->mutable_set() = advisor_.Patterns();
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdvisorServiceImpl::RevokePattern(grpc::CallbackServerContext* context,
                                                            const v1::RevokePatternRequest* request,
                                                            v1::Pattern* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call&) -> absl::Status {
    GALEN_ASSIGN_OR_RETURN(*response, advisor_.Revoke(*request));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdvisorServiceImpl::RestorePattern(
    grpc::CallbackServerContext* context, const v1::RestorePatternRequest* request,
    v1::Pattern* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call&) -> absl::Status {
    GALEN_ASSIGN_OR_RETURN(*response, advisor_.Restore(*request));
    return absl::OkStatus();
  });
}

}  // namespace galen::advisor
