#include "services/gateway/kubernetes/mesh.h"

#include <future>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/base/retry_hint.h"
#include "common/base/status_macros.h"
#include "common/observability/trace/trace.h"

namespace galen::gateway::kubernetes {
namespace {

constexpr absl::Duration kCallTime = absl::Seconds(10);

absl::StatusOr<galen::v1::Diagnosis> Ask(Upstream& upstream, const char* method,
                                         const std::string& resource,
                                         std::shared_ptr<google::protobuf::Message> request) {
  const trace::Scope scope({trace::NewTrace(), resource});
  Upstream::Call call;
  call.method = galen::v1::GetDiagnosisRequest::descriptor()
                    ->file()
                    ->FindServiceByName("DiagnosisService")
                    ->FindMethodByName(method);
  call.request = std::move(request);
  call.resource = resource;
  call.deadline = absl::Now() + kCallTime;
  call.again = true;  // each of them does the same twice as once
  const auto answered = std::make_shared<std::promise<absl::StatusOr<galen::v1::Diagnosis>>>();
  std::future<absl::StatusOr<galen::v1::Diagnosis>> answer = answered->get_future();
  upstream.Ask(std::move(call), [answered](absl::StatusOr<Upstream::Answer> reply) {
    if (!reply.ok()) return answered->set_value(reply.status());
    const auto* diagnosis = dynamic_cast<const galen::v1::Diagnosis*>(reply->get());
    if (diagnosis == nullptr) return answered->set_value(absl::InternalError("no diagnosis"));
    answered->set_value(*diagnosis);
  });
  return answer.get();
}

}  // namespace

absl::StatusOr<galen::v1::Diagnosis> Mesh::Create(
    const galen::v1::CreateDiagnosisRequest& request) {
  const auto counted = std::make_shared<std::promise<absl::StatusOr<Allowance>>>();
  std::future<absl::StatusOr<Allowance>> count = counted->get_future();
  rates_.Take(
      std::string(absl::StripPrefix(request.parent(), "tenants/")), /*starts=*/true,
      [counted](absl::StatusOr<Allowance> allowance) { counted->set_value(std::move(allowance)); });
  GALEN_ASSIGN_OR_RETURN(const Allowance allowance, count.get());
  if (allowance.wait > absl::ZeroDuration()) {
    return WithRetryAfter(
        absl::ResourceExhaustedError(absl::StrCat(
            request.parent(), ": more diagnoses at once than its limit; this one waits")),
        allowance.wait);
  }
  return Ask(upstream_, "CreateDiagnosis", request.parent(),
             std::make_shared<galen::v1::CreateDiagnosisRequest>(request));
}

absl::StatusOr<galen::v1::Diagnosis> Mesh::Get(const std::string& name) {
  auto request = std::make_shared<galen::v1::GetDiagnosisRequest>();
  request->set_name(name);
  return Ask(upstream_, "GetDiagnosis", name, std::move(request));
}

absl::Status Mesh::Cancel(const std::string& name, const std::string& reason) {
  auto request = std::make_shared<galen::v1::CancelDiagnosisRequest>();
  request->set_name(name);
  request->set_reason(reason);
  return Ask(upstream_, "CancelDiagnosis", name, std::move(request)).status();
}

}  // namespace galen::gateway::kubernetes
