#ifndef SERVICES_ADVISOR_ADVISOR_SERVICE_H_
#define SERVICES_ADVISOR_ADVISOR_SERVICE_H_

#include "common/base/executor.h"
#include "common/rpc/tenant_guard.h"
#include "galen/advisor/v1/advisor.grpc.pb.h"
#include "services/advisor/advisor.h"

namespace galen::advisor {

// The gRPC adapter of Advisor: conversion only.
class AdvisorServiceImpl final : public v1::AdvisorService::CallbackService {
 public:
  // All must outlive the service. `guard`: null if tenants are not checked.
  AdvisorServiceImpl(Advisor& advisor, Executor& executor, rpc::TenantGuard* guard)
      : advisor_(advisor), executor_(executor), guard_(guard) {}

  grpc::ServerUnaryReactor* RegisterJob(grpc::CallbackServerContext* context,
                                        const v1::RegisterJobRequest* request,
                                        v1::RegisterJobResponse* response) override;
  grpc::ServerUnaryReactor* ReportProgress(grpc::CallbackServerContext* context,
                                           const v1::ReportProgressRequest* request,
                                           v1::ReportProgressResponse* response) override;
  grpc::ServerUnaryReactor* ReportTest(grpc::CallbackServerContext* context,
                                       const v1::ReportTestRequest* request,
                                       v1::ReportTestResponse* response) override;
  grpc::ServerUnaryReactor* ReportRuns(grpc::CallbackServerContext* context,
                                       const v1::ReportRunsRequest* request,
                                       v1::ReportRunsResponse* response) override;
  grpc::ServerUnaryReactor* Learn(grpc::CallbackServerContext* context,
                                  const v1::LearnRequest* request,
                                  v1::LearnResponse* response) override;
  grpc::ServerUnaryReactor* ListPatterns(grpc::CallbackServerContext* context,
                                         const v1::ListPatternsRequest* request,
                                         v1::ListPatternsResponse* response) override;
  grpc::ServerUnaryReactor* RevokePattern(grpc::CallbackServerContext* context,
                                          const v1::RevokePatternRequest* request,
                                          v1::Pattern* response) override;
  grpc::ServerUnaryReactor* RestorePattern(grpc::CallbackServerContext* context,
                                           const v1::RestorePatternRequest* request,
                                           v1::Pattern* response) override;

 private:
  Advisor& advisor_;
  Executor& executor_;
  rpc::TenantGuard* const guard_;
};

}  // namespace galen::advisor

#endif  // SERVICES_ADVISOR_ADVISOR_SERVICE_H_
