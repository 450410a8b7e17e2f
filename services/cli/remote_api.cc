#include <grpcpp/grpcpp.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/steady.h"
#include "common/rpc/channel.h"
#include "common/rpc/status.h"
#include "galen/v1/diagnosis_service.grpc.pb.h"
#include "services/cli/diagnosis_api.h"

namespace galen::cli {
namespace {

constexpr absl::Duration kCallTimeout = absl::Seconds(20);
// A server that restarts may be away for a while; then the watch gives up.
constexpr absl::Duration kReconnectFor = absl::Seconds(30);

class RemoteApi final : public DiagnosisApi {
 public:
  explicit RemoteApi(const std::string& address)
      : address_(address),
        channel_(rpc::Connect(address)),
        stub_(v1::DiagnosisService::NewStub(channel_)) {}

  absl::StatusOr<v1::Diagnosis> Create(const v1::CreateDiagnosisRequest& request) override {
    return Call(request, &v1::DiagnosisService::Stub::CreateDiagnosis);
  }
  absl::StatusOr<v1::Diagnosis> Get(const std::string& name) override {
    v1::GetDiagnosisRequest request;
    request.set_name(name);
    return Call(request, &v1::DiagnosisService::Stub::GetDiagnosis);
  }
  absl::StatusOr<v1::Diagnosis> SubmitFeedback(const v1::SubmitFeedbackRequest& request) override {
    return Call(request, &v1::DiagnosisService::Stub::SubmitFeedback);
  }

  absl::Status Watch(const std::string& name, std::int64_t after_sequence,
                     const std::function<void(const v1::DiagnosisEvent&)>& on_event) override {
    absl::Time give_up = SteadyNow() + kReconnectFor;
    for (;;) {
      v1::WatchDiagnosisRequest request;
      request.set_name(name);
      request.set_after_sequence(after_sequence);
      grpc::ClientContext context;
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
  template <typename Request>
  absl::StatusOr<v1::Diagnosis> Call(const Request& request,
                                     grpc::Status (v1::DiagnosisService::Stub::*method)(
                                         grpc::ClientContext*, const Request&, v1::Diagnosis*)) {
    grpc::ClientContext context;
    context.set_deadline(ClockIn(kCallTimeout));
    v1::Diagnosis response;
    const absl::Status status =
        rpc::FromGrpcStatus((stub_.get()->*method)(&context, request, &response));
    if (!status.ok()) return Explained(status);
    return response;
  }

  absl::Status Explained(const absl::Status& status) const {
    if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status)) return status;
    return absl::UnavailableError(
        absl::StrCat(address_, ": no answer from Galen there (", status.message(),
                     "); see that galen-orchestrator or `galen up` runs and listens there"));
  }

  const std::string address_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::DiagnosisService::Stub> stub_;
};

}  // namespace

std::unique_ptr<DiagnosisApi> ConnectTo(const std::string& address) {
  return std::make_unique<RemoteApi>(address);
}

}  // namespace galen::cli
