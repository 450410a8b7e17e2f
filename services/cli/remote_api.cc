#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/rpc/channel.h"
#include "common/rpc/status.h"
#include "common/security/claims/claim.h"
#include "galen/v1/diagnosis_service.grpc.pb.h"
#include "services/cli/diagnosis_api.h"

namespace galen::cli {
namespace {

constexpr absl::Duration kCallTimeout = absl::Seconds(20);
// A server that restarts may be away for a while; then the watch gives up.
constexpr absl::Duration kReconnectFor = absl::Seconds(30);

class RemoteApi final : public DiagnosisApi {
 public:
  RemoteApi(const std::string& address, std::unique_ptr<rpc::Security> security,
            std::shared_ptr<grpc::Channel> channel)
      : address_(address),
        security_(std::move(security)),
        channel_(std::move(channel)),
        stub_(v1::DiagnosisService::NewStub(channel_)) {}

  absl::StatusOr<v1::Diagnosis> Create(const v1::CreateDiagnosisRequest& request) override {
    return Call(request, request.parent(), &v1::DiagnosisService::Stub::CreateDiagnosis);
  }
  absl::StatusOr<v1::Diagnosis> Get(const std::string& name) override {
    v1::GetDiagnosisRequest request;
    request.set_name(name);
    return Call(request, name, &v1::DiagnosisService::Stub::GetDiagnosis);
  }
  absl::StatusOr<v1::Diagnosis> SubmitFeedback(const v1::SubmitFeedbackRequest& request) override {
    return Call(request, request.name(), &v1::DiagnosisService::Stub::SubmitFeedback);
  }

  absl::StatusOr<v1::ListDiagnosesResponse> List(const v1::ListDiagnosesRequest& request) {
    return Call(request, request.parent(), &v1::DiagnosisService::Stub::ListDiagnoses);
  }

  absl::Status Watch(const std::string& name, std::int64_t after_sequence,
                     const std::function<void(const v1::DiagnosisEvent&)>& on_event) override {
    absl::Time give_up = SteadyNow() + kReconnectFor;
    for (;;) {
      v1::WatchDiagnosisRequest request;
      request.set_name(name);
      request.set_after_sequence(after_sequence);
      grpc::ClientContext context;
      AddClaim(name, context);
      auto reader = stub_->WatchDiagnosis(&context, request);
      v1::DiagnosisEvent event;
      while (reader->Read(&event)) {
        after_sequence = event.sequence();
        on_event(event);
        give_up = SteadyNow() + kReconnectFor;
      }
      const absl::Status status = rpc::FromGrpcStatus(reader->Finish());
      if (!absl::IsUnavailable(status) || SteadyNow() >= give_up) return Explained(status);
      // Not a poll: returns as soon as the channel is up again.
      channel_->WaitForConnected(ClockIn(absl::Seconds(2)));
    }
  }

 private:
  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(const Request& request, const std::string& resource,
                                grpc::Status (v1::DiagnosisService::Stub::*method)(
                                    grpc::ClientContext*, const Request&, Response*)) {
    grpc::ClientContext context;
    AddClaim(resource, context);
    context.set_deadline(ClockIn(kCallTimeout));
    Response response;
    const absl::Status status =
        rpc::FromGrpcStatus((stub_.get()->*method)(&context, request, &response));
    if (!status.ok()) return Explained(status);
    return response;
  }

  void AddClaim(const std::string& resource, grpc::ClientContext& context) const {
    const std::string claim = security_->ClaimFor(resource, security::Role::kOrchestrator);
    if (!claim.empty()) context.AddMetadata(security::kClaimKey, claim);
  }

  absl::Status Explained(const absl::Status& status) const {
    if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status)) return status;
    return absl::UnavailableError(
        absl::StrCat(address_, ": no answer from Galen there (", status.message(),
                     "); see that galen-orchestrator or `galen up` runs and listens there"));
  }

  const std::string address_;
  const std::unique_ptr<rpc::Security> security_;  // outlives the channel
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::DiagnosisService::Stub> stub_;
};

absl::StatusOr<std::unique_ptr<RemoteApi>> Open(const std::string& address,
                                                const rpc::SecurityOptions& options) {
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<rpc::Security> security, rpc::Security::Open(options));
  GALEN_ASSIGN_OR_RETURN(std::shared_ptr<grpc::Channel> channel,
                         rpc::Connect(address, *security, {security::Role::kOrchestrator}));
  return std::make_unique<RemoteApi>(address, std::move(security), std::move(channel));
}

}  // namespace

absl::StatusOr<std::unique_ptr<DiagnosisApi>> ConnectTo(const std::string& address,
                                                        const rpc::SecurityOptions& security) {
  return Open(address, security);
}

absl::StatusOr<DiagnosisLister> ListerAt(const std::string& address,
                                         const rpc::SecurityOptions& security) {
  GALEN_ASSIGN_OR_RETURN(std::shared_ptr<RemoteApi> api, Open(address, security));
  return DiagnosisLister([api = std::move(api)](const v1::ListDiagnosesRequest& request) {
    return api->List(request);
  });
}

}  // namespace galen::cli
