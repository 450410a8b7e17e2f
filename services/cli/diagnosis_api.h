#ifndef SERVICES_CLI_DIAGNOSIS_API_H_
#define SERVICES_CLI_DIAGNOSIS_API_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/rpc/security.h"
#include "galen/v1/diagnosis_service.pb.h"

namespace galen::cli {

// DiagnosisService as a command uses it, blocking: a mesh in this process, or a server.
class DiagnosisApi {
 public:
  virtual ~DiagnosisApi() = default;
  virtual absl::StatusOr<v1::Diagnosis> Create(const v1::CreateDiagnosisRequest& request) = 0;
  virtual absl::StatusOr<v1::Diagnosis> Get(const std::string& name) = 0;
  virtual absl::StatusOr<v1::Diagnosis> SubmitFeedback(
      const v1::SubmitFeedbackRequest& request) = 0;
  virtual absl::StatusOr<v1::ListDiagnosesResponse> List(
      const v1::ListDiagnosesRequest& request) = 0;
  virtual absl::StatusOr<v1::Diagnosis> Escalate(const v1::EscalateDiagnosisRequest& request) = 0;
  virtual absl::Status Delete(const std::string& name) = 0;
  // Gives every event after `after_sequence` in order, until the diagnosis ends or awaits feedback.
  // After a lost connection it resumes where it broke. If the store lost events that were given
  // already, all events after `after_sequence` are given again, as the diagnosis repeats them.
  virtual absl::Status Watch(const std::string& name, std::int64_t after_sequence,
                             const std::function<void(const v1::DiagnosisEvent&)>& on_event) = 0;
};

// The service at `address`. UNAVAILABLE from its methods when nobody answers there.
// FAILED_PRECONDITION when it is not loopback and there are no certificates.
absl::StatusOr<std::unique_ptr<DiagnosisApi>> ConnectTo(const std::string& address,
                                                        const rpc::SecurityOptions& security);

// Lists diagnoses of the service at `address`, blocking; errors as of ConnectTo().
using DiagnosisLister =
    std::function<absl::StatusOr<v1::ListDiagnosesResponse>(const v1::ListDiagnosesRequest&)>;
absl::StatusOr<DiagnosisLister> ListerAt(const std::string& address,
                                         const rpc::SecurityOptions& security);

}  // namespace galen::cli

#endif  // SERVICES_CLI_DIAGNOSIS_API_H_
