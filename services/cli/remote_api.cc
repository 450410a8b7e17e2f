#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/rpc/replicas/blocking_call.h"
#include "common/rpc/replicas/replicas.h"
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
            std::unique_ptr<rpc::Replicas> replicas)
      : address_(address), security_(std::move(security)), replicas_(std::move(replicas)) {}

  absl::StatusOr<v1::Diagnosis> Create(const v1::CreateDiagnosisRequest& request) override {
    // The request id makes a second one the same diagnosis.
    return Call(request, request.parent(), &v1::DiagnosisService::Stub::CreateDiagnosis,
                /*again=*/!request.request_id().empty());
  }
  absl::StatusOr<v1::Diagnosis> Get(const std::string& name) override {
    v1::GetDiagnosisRequest request;
    request.set_name(name);
    return Call(request, name, &v1::DiagnosisService::Stub::GetDiagnosis);
  }
  absl::StatusOr<v1::Diagnosis> SubmitFeedback(const v1::SubmitFeedbackRequest& request) override {
    return Call(request, request.name(), &v1::DiagnosisService::Stub::SubmitFeedback,
                /*again=*/false);
  }

  absl::StatusOr<v1::Diagnosis> Escalate(const v1::EscalateDiagnosisRequest& request) override {
    return Call(request, request.name(), &v1::DiagnosisService::Stub::EscalateDiagnosis);
  }

  absl::Status Delete(const std::string& name) override {
    v1::DeleteDiagnosisRequest request;
    request.set_name(name);
    return Call(request, name, &v1::DiagnosisService::Stub::DeleteDiagnosis, /*again=*/false)
        .status();
  }

  absl::StatusOr<v1::ListDiagnosesResponse> List(const v1::ListDiagnosesRequest& request) override {
    return Call(request, request.parent(), &v1::DiagnosisService::Stub::ListDiagnoses);
  }

  absl::Status Watch(const std::string& name, std::int64_t after_sequence,
                     const std::function<void(const v1::DiagnosisEvent&)>& on_event) override {
    const std::int64_t asked_after = after_sequence;
    std::int64_t furthest = after_sequence;
    absl::Time give_up = SteadyNow() + kReconnectFor;
    bool lost = false;
    for (;;) {
      v1::WatchDiagnosisRequest request;
      request.set_name(name);
      request.set_after_sequence(after_sequence);
      grpc::ClientContext context;
      AddClaim(name, context);
      rpc::Replicas::Turn turn = replicas_->Begin();
      // Not a poll: returns as soon as the channel is up again.
      if (lost) turn.replica().channel().WaitForConnected(ClockIn(absl::Seconds(2)));
      auto reader = turn.replica().Stub<v1::DiagnosisService>().WatchDiagnosis(&context, request);
      v1::DiagnosisEvent event;
      while (reader->Read(&event)) {
        after_sequence = event.sequence();
        on_event(event);
        // Only what is new puts the end off: a store that loses the same again and again does not.
        if (after_sequence > furthest) give_up = SteadyNow() + kReconnectFor;
        furthest = std::max(furthest, after_sequence);
      }
      const grpc::Status end = reader->Finish();
      const absl::Status status = rpc::StatusOf(end);
      // The store lost what was read here (a Redis that died between two syncs), and it is done
      // again.
      const bool forgotten = absl::IsOutOfRange(status) && after_sequence > asked_after;
      if (forgotten) after_sequence = asked_after;
      if (!(forgotten || absl::IsUnavailable(status)) || SteadyNow() >= give_up) {
        return Explained(end);
      }
      turn.End(!rpc::IsUnreachable(end));
      lost = true;
    }
  }

 private:
  // `again`: it may be made once more, at another replica, when the first was not reached.
  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(const Request& request, const std::string& resource,
                                grpc::Status (v1::DiagnosisService::Stub::*method)(
                                    grpc::ClientContext*, const Request&, Response*),
                                bool again = true) {
    Response response;
    const grpc::Status status = rpc::BlockingCall<v1::DiagnosisService>(
        *replicas_, method, request, response, again, [&](grpc::ClientContext& context) {
          AddClaim(resource, context);
          context.set_deadline(ClockIn(kCallTimeout));
        });
    if (!status.ok()) return Explained(status);
    return response;
  }

  void AddClaim(const std::string& resource, grpc::ClientContext& context) const {
    const std::string claim = security_->ClaimFor(resource, security::Role::kOrchestrator);
    if (!claim.empty()) context.AddMetadata(security::kClaimKey, claim);
  }

  // Keeps the service's own errors as they are; explains those of the connection.
  absl::Status Explained(const grpc::Status& ended) const {
    const absl::Status status = rpc::StatusOf(ended);
    if (!rpc::IsUnreachable(ended) && !absl::IsDeadlineExceeded(status)) return status;
    return absl::UnavailableError(
        absl::StrCat(address_, ": no answer from Galen there (", status.message(),
                     "); see that galen-orchestrator or `galen up` runs and listens there"));
  }

  const std::string address_;
  const std::unique_ptr<rpc::Security> security_;  // outlives the channels
  const std::unique_ptr<rpc::Replicas> replicas_;
};

absl::StatusOr<std::unique_ptr<RemoteApi>> Open(const std::string& address,
                                                const rpc::SecurityOptions& options) {
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<rpc::Security> security, rpc::Security::Open(options));
  GALEN_ASSIGN_OR_RETURN(
      std::unique_ptr<rpc::Replicas> replicas,
      rpc::Replicas::Connect(address, *security, {security::Role::kOrchestrator}));
  return std::make_unique<RemoteApi>(address, std::move(security), std::move(replicas));
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
