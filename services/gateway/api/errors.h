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

// INVALID_ARGUMENT: what is wrong with one field of a request, "diagnosis.incident.description".
absl::Status FieldError(absl::string_view field, absl::string_view description,
                        absl::string_view reason = "INVALID_FIELD");

// As google/rpc/code.proto maps codes to HTTP.
int HttpStatusOf(absl::StatusCode code);

// {"code":404,"message":...,"status":"NOT_FOUND","details":[...]} with one ErrorInfo; also a
// BadRequest where the status names a field, be it at the start of its message as our services
// write it, and a RetryInfo where it says when to try again.
// `http_status` is that of the code unless it is given.
std::string ErrorJson(const absl::Status& status, int http_status = 0);

// The whole answer: {"error": ErrorJson()}, and Retry-After where the status says when.
http::Response ErrorResponse(const absl::Status& status, int http_status = 0);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_API_ERRORS_H_
