#ifndef SERVICES_GATEWAY_API_ERRORS_H_
#define SERVICES_GATEWAY_API_ERRORS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "services/gateway/http/message.h"

// Errors as clients of the API see them: the JSON form of google.rpc.Status (AIP-193). All are
// pure.
namespace galen::gateway {

// A status whose ErrorInfo has this reason ("UNKNOWN_FIELD") instead of the name of its code.
absl::Status WithReason(absl::Status status, absl::string_view reason);

// INVALID_ARGUMENT: the problem with one field of a request, "diagnosis.incident.description".
absl::Status FieldError(absl::string_view field, absl::string_view description,
                        absl::string_view reason = "INVALID_FIELD");

// The HTTP status of a code, as in google/rpc/code.proto.
int HttpStatusOf(absl::StatusCode code);

// {"code":404,"message":...,"status":"NOT_FOUND","details":[...]} with one ErrorInfo; also a
// BadRequest if the status names a field, at the start of its message for instance, as our services
// do, and a RetryInfo if it says when to try again. `http_status` is that of the code unless it is
// given.
std::string ErrorJson(const absl::Status& status, int http_status = 0);

// The complete answer: {"error": ErrorJson()}, and Retry-After if the status says when.
http::Response ErrorResponse(const absl::Status& status, int http_status = 0);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_API_ERRORS_H_
