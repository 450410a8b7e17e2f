#ifndef COMMON_KUBE_ANSWER_H_
#define COMMON_KUBE_ANSWER_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/json_access.h"

namespace galen::kube {

using Json = nlohmann::json;

// An object of the API: DATA_LOSS if it is not a JSON object, or is nested too deeply.
absl::StatusOr<Json> ParseObject(absl::string_view text);

// Converts an answer that is not a success to a status, with the hint of common/base/retry_hint.h
// if the server gives one: by a Retry-After header or in its Status object.
//   400, 413, 415, 422 INVALID_ARGUMENT     409 ALREADY_EXISTS by its reason, else ABORTED
//   401 UNAUTHENTICATED                     410 OUT_OF_RANGE: the known version is too old
//   403 PERMISSION_DENIED                   429 RESOURCE_EXHAUSTED
//   404 NOT_FOUND                           5xx UNAVAILABLE
// `asked` names the request: "get /api/v1/nodes/a".
absl::Status StatusOfAnswer(absl::string_view asked, int code, absl::string_view body,
                            std::optional<absl::Duration> retry_after);
// The same for a Status object, as one comes in a watch.
absl::Status StatusOfObject(absl::string_view asked, int code, const Json& object,
                            std::optional<absl::Duration> retry_after);

}  // namespace galen::kube

#endif  // COMMON_KUBE_ANSWER_H_
