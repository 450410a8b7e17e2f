#include "common/kube/answer.h"

#include "absl/strings/str_cat.h"
#include "common/base/json_depth.h"
#include "common/base/retry_hint.h"
#include "common/base/text.h"

namespace galen::kube {
namespace {

constexpr int kMostNesting = 200;
// Enough for all pods of a large cluster.
constexpr std::size_t kMostValues = std::size_t{1} << 23;
constexpr std::size_t kMostMessage = 1000;

absl::StatusCode CodeOf(int code, absl::string_view reason) {
  switch (code) {
    case 400:
    case 413:
    case 415:
    case 422:
      return absl::StatusCode::kInvalidArgument;
    case 401:
      return absl::StatusCode::kUnauthenticated;
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
      return absl::StatusCode::kNotFound;
    case 409:
      return reason == "AlreadyExists" ? absl::StatusCode::kAlreadyExists
                                       : absl::StatusCode::kAborted;
    case 410:
      return absl::StatusCode::kOutOfRange;
    case 429:
      return absl::StatusCode::kResourceExhausted;
    default:
      return code >= 500 && code <= 599 ? absl::StatusCode::kUnavailable
                                        : absl::StatusCode::kFailedPrecondition;
  }
}

absl::string_view Remedy(int code) {
  switch (code) {
    case 401:
      return "; look at the service account and its token";
    case 403:
      return "; grant it by a role of this service account";
    case 409:
      return "; read the object again and decide again";
    default:
      return code >= 300 && code <= 399 ? "; name the API server itself, redirects are not followed"
                                        : "";
  }
}

}  // namespace

absl::StatusOr<Json> ParseObject(absl::string_view text) {
  if (JsonNestsDeeperThan(text, kMostNesting)) {
    return absl::DataLossError(
        absl::StrCat("what the API server sent nests deeper than ", kMostNesting, " levels"));
  }
  Json object = ParseJson(text, {.depth = kMostNesting, .values = kMostValues});
  if (!object.is_object()) return absl::DataLossError("the answer is not a JSON object");
  return object;
}

absl::Status StatusOfObject(absl::string_view asked, int code, const Json& object,
                            std::optional<absl::Duration> retry_after) {
  const std::string reason = CleanText(TextAt(object, {"reason"}), 80);
  std::string message = CleanText(TextAt(object, {"message"}), kMostMessage);
  if (message.empty()) message = "the API server gives no reason";
  absl::Status status(CodeOf(code, reason),
                      absl::StrCat(asked, ": ", message, " (", code, reason.empty() ? "" : " ",
                                   reason, ")", Remedy(code)));
  if (!retry_after.has_value() && object.is_object()) {
    const Json details = object.value("details", Json());
    const auto seconds = details.is_object() ? details.find("retryAfterSeconds") : details.end();
    if (details.is_object() && seconds != details.end() && seconds->is_number_unsigned() &&
        *seconds > 0) {
      retry_after = absl::Seconds(static_cast<double>(seconds->get<std::uint64_t>()));
    }
  }
  return retry_after.has_value() ? WithRetryAfter(std::move(status), *retry_after) : status;
}

absl::Status StatusOfAnswer(absl::string_view asked, int code, absl::string_view body,
                            std::optional<absl::Duration> retry_after) {
  absl::StatusOr<Json> object = ParseObject(body);
  if (object.ok()) return StatusOfObject(asked, code, *object, retry_after);
  // A proxy's answer, or an early refusal, which is text.
  return StatusOfObject(asked, code, Json{{"message", CleanText(body, kMostMessage)}}, retry_after);
}

}  // namespace galen::kube
