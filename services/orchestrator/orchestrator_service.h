#ifndef SERVICES_ORCHESTRATOR_ORCHESTRATOR_SERVICE_H_
#define SERVICES_ORCHESTRATOR_ORCHESTRATOR_SERVICE_H_

#include "common/base/executor.h"
#include "common/rpc/tenant_guard.h"
#include "galen/v1/diagnosis_service.grpc.pb.h"
#include "services/orchestrator/orchestrator.h"

namespace galen::orchestrator {

// DiagnosisService over gRPC. A watcher holds no thread: its stream asks for the next events when
// it has room for them.
class OrchestratorServiceImpl final : public v1::DiagnosisService::CallbackService {
 public:
  // All must outlive the service. `executor` runs the methods, which touch the store. `guard` holds
  // each request against the tenant's claim that came with it; null where there are no claims.
  OrchestratorServiceImpl(Orchestrator& orchestrator, Executor& executor,
                          rpc::TenantGuard* guard = nullptr)
      : orchestrator_(orchestrator), executor_(executor), guard_(guard) {}

  grpc::ServerUnaryReactor* CreateDiagnosis(grpc::CallbackServerContext* context,
                                            const v1::CreateDiagnosisRequest* request,
                                            v1::Diagnosis* response) override;
  grpc::ServerUnaryReactor* GetDiagnosis(grpc::CallbackServerContext* context,
                                         const v1::GetDiagnosisRequest* request,
                                         v1::Diagnosis* response) override;
  grpc::ServerUnaryReactor* ListDiagnoses(grpc::CallbackServerContext* context,
                                          const v1::ListDiagnosesRequest* request,
                                          v1::ListDiagnosesResponse* response) override;
  grpc::ServerWriteReactor<v1::DiagnosisEvent>* WatchDiagnosis(
      grpc::CallbackServerContext* context, const v1::WatchDiagnosisRequest* request) override;
  grpc::ServerUnaryReactor* CancelDiagnosis(grpc::CallbackServerContext* context,
                                            const v1::CancelDiagnosisRequest* request,
                                            v1::Diagnosis* response) override;
  grpc::ServerUnaryReactor* SubmitFeedback(grpc::CallbackServerContext* context,
                                           const v1::SubmitFeedbackRequest* request,
                                           v1::Diagnosis* response) override;
  grpc::ServerUnaryReactor* EscalateDiagnosis(grpc::CallbackServerContext* context,
                                              const v1::EscalateDiagnosisRequest* request,
                                              v1::Diagnosis* response) override;
  grpc::ServerUnaryReactor* DeleteDiagnosis(grpc::CallbackServerContext* context,
                                            const v1::DeleteDiagnosisRequest* request,
                                            v1::DeleteDiagnosisResponse* response) override;

 private:
  Orchestrator& orchestrator_;
  Executor& executor_;
  rpc::TenantGuard* const guard_;
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_ORCHESTRATOR_SERVICE_H_
