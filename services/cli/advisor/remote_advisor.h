#ifndef SERVICES_CLI_ADVISOR_REMOTE_ADVISOR_H_
#define SERVICES_CLI_ADVISOR_REMOTE_ADVISOR_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/rpc/security.h"
#include "galen/advisor/v1/advisor.pb.h"

namespace galen::cli {

// galen-advisor behind an address. A call that reached none is made once more at another replica,
// where there is one and nothing could be done twice. Errors are the service's own; UNAVAILABLE
// says which address did not answer. Not thread-safe.
class RemoteAdvisor {
 public:
  static absl::StatusOr<std::unique_ptr<RemoteAdvisor>> Connect(
      const std::string& address, const rpc::SecurityOptions& security);
  ~RemoteAdvisor();

  absl::StatusOr<advisor::v1::RegisterJobResponse> Register(
      const advisor::v1::RegisterJobRequest& request);
  absl::StatusOr<advisor::v1::ReportProgressResponse> Progress(
      const advisor::v1::ReportProgressRequest& request);
  absl::StatusOr<advisor::v1::ReportTestResponse> Test(
      const advisor::v1::ReportTestRequest& request);
  absl::StatusOr<advisor::v1::ReportRunsResponse> Runs(
      const advisor::v1::ReportRunsRequest& request);
  absl::StatusOr<advisor::v1::LearnResponse> Learn();
  absl::StatusOr<advisor::v1::PatternSet> Patterns();
  absl::StatusOr<advisor::v1::Pattern> Revoke(const advisor::v1::RevokePatternRequest& request);
  absl::StatusOr<advisor::v1::Pattern> Restore(const advisor::v1::RestorePatternRequest& request);

 private:
  struct Impl;
  explicit RemoteAdvisor(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace galen::cli

#endif  // SERVICES_CLI_ADVISOR_REMOTE_ADVISOR_H_
