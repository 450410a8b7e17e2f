#include "services/cli/advisor/remote_advisor.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/rpc/replicas/blocking_call.h"
#include "common/rpc/replicas/replicas.h"
#include "common/security/claims/claim.h"
#include "galen/advisor/v1/advisor.grpc.pb.h"

namespace galen::cli {
namespace {

using advisor::v1::AdvisorService;

constexpr absl::Duration kCallTimeout = absl::Seconds(20);
// A million runs take seconds.
constexpr absl::Duration kLearnTimeout = absl::Minutes(10);

}  // namespace

struct RemoteAdvisor::Impl {
  std::string address;
  std::unique_ptr<rpc::Security> security;  // outlives the channels
  std::unique_ptr<rpc::Replicas> replicas;

  // `resource`: what it is about, of which tenant; "": of none. `again`: it may be made once more.
  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(const Request& request, const std::string& resource,
                                grpc::Status (AdvisorService::Stub::*method)(grpc::ClientContext*,
                                                                             const Request&,
                                                                             Response*),
                                bool again = true, absl::Duration limit = kCallTimeout) {
    Response response;
    const grpc::Status status = rpc::BlockingCall<AdvisorService>(
        *replicas, method, request, response, again, [&](grpc::ClientContext& context) {
          const std::string claim = security->ClaimFor(resource, security::Role::kAdvisor);
          if (!claim.empty()) context.AddMetadata(security::kClaimKey, claim);
          context.set_deadline(ClockIn(limit));
        });
    if (!status.ok()) return Explained(status);
    return response;
  }

  // Keeps the service's own errors as they are; explains those of the connection.
  absl::Status Explained(const grpc::Status& ended) const {
    const absl::Status status = rpc::StatusOf(ended);
    if (!rpc::IsUnreachable(ended) && !absl::IsDeadlineExceeded(status)) return status;
    return absl::UnavailableError(absl::StrCat(address, ": no answer from the advisor there (",
                                               status.message(),
                                               "); see that galen-advisor runs and listens there"));
  }
};

RemoteAdvisor::RemoteAdvisor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RemoteAdvisor::~RemoteAdvisor() = default;

absl::StatusOr<std::unique_ptr<RemoteAdvisor>> RemoteAdvisor::Connect(
    const std::string& address, const rpc::SecurityOptions& security) {
  auto impl = std::make_unique<Impl>();
  impl->address = address;
  GALEN_ASSIGN_OR_RETURN(impl->security, rpc::Security::Open(security));
  GALEN_ASSIGN_OR_RETURN(
      impl->replicas, rpc::Replicas::Connect(address, *impl->security, {security::Role::kAdvisor}));
  return std::unique_ptr<RemoteAdvisor>(new RemoteAdvisor(std::move(impl)));
}

absl::StatusOr<advisor::v1::RegisterJobResponse> RemoteAdvisor::Register(
    const advisor::v1::RegisterJobRequest& request) {
  return impl_->Call(request, request.parent(), &AdvisorService::Stub::RegisterJob);
}

absl::StatusOr<advisor::v1::ReportProgressResponse> RemoteAdvisor::Progress(
    const advisor::v1::ReportProgressRequest& request) {
  return impl_->Call(request, request.job(), &AdvisorService::Stub::ReportProgress);
}

absl::StatusOr<advisor::v1::ReportTestResponse> RemoteAdvisor::Test(
    const advisor::v1::ReportTestRequest& request) {
  return impl_->Call(request, request.job(), &AdvisorService::Stub::ReportTest, /*again=*/false);
}

absl::StatusOr<advisor::v1::ReportRunsResponse> RemoteAdvisor::Runs(
    const advisor::v1::ReportRunsRequest& request) {
  return impl_->Call(request, "", &AdvisorService::Stub::ReportRuns, /*again=*/false);
}

absl::StatusOr<advisor::v1::LearnResponse> RemoteAdvisor::Learn() {
  return impl_->Call(advisor::v1::LearnRequest(), "", &AdvisorService::Stub::Learn,
                     /*again=*/true, kLearnTimeout);
}

absl::StatusOr<advisor::v1::PatternSet> RemoteAdvisor::Patterns() {
  GALEN_ASSIGN_OR_RETURN(auto response, impl_->Call(advisor::v1::ListPatternsRequest(), "",
                                                    &AdvisorService::Stub::ListPatterns));
  return std::move(*response.mutable_set());
}

absl::StatusOr<advisor::v1::Pattern> RemoteAdvisor::Revoke(
    const advisor::v1::RevokePatternRequest& request) {
  return impl_->Call(request, "", &AdvisorService::Stub::RevokePattern, /*again=*/false);
}

absl::StatusOr<advisor::v1::Pattern> RemoteAdvisor::Restore(
    const advisor::v1::RestorePatternRequest& request) {
  return impl_->Call(request, "", &AdvisorService::Stub::RestorePattern, /*again=*/false);
}

}  // namespace galen::cli
