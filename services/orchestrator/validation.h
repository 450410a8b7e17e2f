#ifndef SERVICES_ORCHESTRATOR_VALIDATION_H_
#define SERVICES_ORCHESTRATOR_VALIDATION_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "galen/v1/diagnosis_service.pb.h"

namespace galen::orchestrator {

// Whether a request is fit to be served. INVALID_ARGUMENT with the field, the fact and the remedy
// otherwise. All are pure.
absl::Status Validate(const v1::CreateDiagnosisRequest& request);
absl::Status Validate(const v1::SubmitFeedbackRequest& request);
absl::Status Validate(const v1::ListDiagnosesRequest& request);
absl::Status ValidateReason(absl::string_view reason);
// Whether there is a strategy of that name.
absl::Status ValidateStrategy(absl::string_view field, absl::string_view name);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_VALIDATION_H_
