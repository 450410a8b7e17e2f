#include "services/gateway/api/errors.h"

#include <google/protobuf/any.pb.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/json_access.h"
#include "common/base/proto_time.h"
#include "common/base/retry_hint.h"
#include "common/base/text.h"
#include "google/rpc/error_details.pb.h"

namespace galen::gateway {
namespace {

using google::rpc::BadRequest;
using google::rpc::ErrorInfo;
using google::rpc::RetryInfo;

constexpr char kErrorInfoUrl[] = "type.googleapis.com/google.rpc.ErrorInfo";
constexpr char kBadRequestUrl[] = "type.googleapis.com/google.rpc.BadRequest";
constexpr std::size_t kMaxMessage = 4 << 10;

// "diagnosis.incident.nodes[3]" of "diagnosis.incident.nodes[3]: is empty"; "" of other messages.
absl::string_view FieldOf(absl::string_view message) {
  const std::size_t colon = message.find(": ");
  if (colon == absl::string_view::npos || colon == 0) return "";
  const absl::string_view field = message.substr(0, colon);
  const bool path = std::all_of(field.begin(), field.end(), [](char c) {
    return absl::ascii_islower(static_cast<unsigned char>(c)) ||
           absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '[' ||
           c == ']';
  });
  return path ? field : "";
}

std::optional<BadRequest> BadRequestOf(const absl::Status& status) {
  BadRequest bad;
  if (const auto payload = status.GetPayload(kBadRequestUrl);
      payload && bad.ParseFromString(std::string(*payload))) {
    return bad;
  }
  if (!absl::IsInvalidArgument(status)) return std::nullopt;
  const absl::string_view field = FieldOf(status.message());
  if (field.empty()) return std::nullopt;
  BadRequest::FieldViolation& violation = *bad.add_field_violations();
  violation.set_field(std::string(field));
  violation.set_description(CleanText(status.message().substr(field.size() + 2), kMaxMessage));
  return bad;
}

nlohmann::ordered_json DetailOf(const google::protobuf::Message& message) {
  google::protobuf::Any any;
  any.PackFrom(message);
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(any, &json).ok()) return {};
  return ParseJson<nlohmann::ordered_json>(json);
}

}  // namespace

absl::Status WithReason(absl::Status status, absl::string_view reason) {
  ErrorInfo info;
  info.set_reason(std::string(reason));
  status.SetPayload(kErrorInfoUrl, absl::Cord(info.SerializeAsString()));
  return status;
}

absl::Status FieldError(absl::string_view field, absl::string_view description,
                        absl::string_view reason) {
  const std::string clean = CleanText(description, kMaxMessage);
  absl::Status status = WithReason(
      absl::InvalidArgumentError(field.empty() ? clean : absl::StrCat(field, ": ", clean)), reason);
  BadRequest bad;
  BadRequest::FieldViolation& violation = *bad.add_field_violations();
  violation.set_field(std::string(field));
  violation.set_description(clean);
  status.SetPayload(kBadRequestUrl, absl::Cord(bad.SerializeAsString()));
  return status;
}

int HttpStatusOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kAborted:
      return 409;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kCancelled:
      return 499;
    case absl::StatusCode::kUnimplemented:
      return 501;
    case absl::StatusCode::kUnavailable:
      return 503;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

std::string ErrorJson(const absl::Status& status, int http_status) {
  ErrorInfo info;
  if (const auto payload = status.GetPayload(kErrorInfoUrl)) {
    info.ParseFromString(std::string(*payload));
  }
  if (info.reason().empty()) info.set_reason(absl::StatusCodeToString(status.code()));
  info.set_domain("galen");
  nlohmann::ordered_json error = {
      {"code", http_status != 0 ? http_status : HttpStatusOf(status.code())},
      {"message", CleanText(status.message(), kMaxMessage)},
      {"status", absl::StatusCodeToString(status.code())},
      {"details", nlohmann::ordered_json::array({DetailOf(info)})},
  };
  if (const std::optional<BadRequest> bad = BadRequestOf(status)) {
    error["details"].push_back(DetailOf(*bad));
  }
  if (const std::optional<absl::Duration> wait = RetryAfter(status)) {
    RetryInfo retry;
    *retry.mutable_retry_delay() = ToProtoDuration(*wait);
    error["details"].push_back(DetailOf(retry));
  }
  return error.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

http::Response ErrorResponse(const absl::Status& status, int http_status) {
  http::Response response;
  response.status = http_status != 0 ? http_status : HttpStatusOf(status.code());
  response.headers.Add("Content-Type", "application/json");
  response.headers.Add("Cache-Control", "no-store");
  if (const std::optional<absl::Duration> wait = RetryAfter(status)) {
    // Whole seconds, and never too early.
    response.headers.Add("Retry-After", absl::StrCat(static_cast<std::int64_t>(std::max(
                                            1.0, std::ceil(absl::ToDoubleSeconds(*wait))))));
  }
  if (absl::IsUnauthenticated(status)) response.headers.Add("WWW-Authenticate", "Bearer");
  response.body = absl::StrCat("{\"error\":", ErrorJson(status, http_status), "}\n");
  return response;
}

}  // namespace galen::gateway
