#include "common/log_sources/json_server.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/json_access.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace galen::log_sources {
namespace {

constexpr JsonLimits kJson = {.depth = 32, .values = std::size_t{1} << 19};
constexpr std::size_t kMostDetail = 300;

// The server's own message: JSON from Elasticsearch, words from Loki.
std::string DetailOf(absl::string_view body) {
  const nlohmann::json json = ParseJson(body, kJson);
  std::string text;
  if (json.is_object()) {
    const nlohmann::json* cause = At(json, {"error", "root_cause"});
    if (cause != nullptr && cause->is_array() && !cause->empty()) {
      text = TextAt(cause->front(), {"reason"});
    }
    if (text.empty()) text = TextAt(json, {"error", "reason"});
    if (text.empty()) text = TextAt(json, {"error"});
    if (text.empty()) text = TextAt(json, {"message"});
  }
  if (text.empty()) text = std::string(absl::StripAsciiWhitespace(body));
  return CleanText(text, kMostDetail);
}

absl::Status ErrorOf(int code, absl::string_view body) {
  const std::string what = absl::StrCat("HTTP ", code, ": ", DetailOf(body));
  // Answers that Loki's parts cannot send to each other, and limits of a query.
  for (const char* const too_large : {"max entries limit", "larger than max", "exceeding the limit",
                                      "too_many_buckets", "Result window is too large"}) {
    if (code >= 400 && absl::StrContains(what, too_large)) {
      return absl::ResourceExhaustedError(what);
    }
  }
  switch (code) {
    case 400:
    case 422:
      return absl::InvalidArgumentError(what);
    case 401:
    case 403:
      return absl::PermissionDeniedError(absl::StrCat(what, "; look at the key and the headers"));
    case 404:
    case 405:
      return absl::NotFoundError(absl::StrCat(what, "; look at the address"));
    case 408:
    case 504:
      return absl::DeadlineExceededError(what);
    case 413:
      return absl::ResourceExhaustedError(what);
    case 429:
      return absl::UnavailableError(absl::StrCat(what, "; try again later"));
    default:
      return code >= 500 ? absl::UnavailableError(what)
                         : absl::DataLossError(absl::StrCat(what, "; redirects are not followed"));
  }
}

}  // namespace

JsonServer::JsonServer(Options options)
    : options_(std::move(options)), transport_(std::make_unique<http::CurlTransport>([this] {
        http::Options http;
        http.server = options_.url;
        while (absl::EndsWith(http.server, "/")) http.server.pop_back();
        http.what = options_.what;
        http.ca_file = options_.ca_file;
        http.key_header = options_.credentials.key_header;
        return http;
      }())) {}

absl::StatusOr<std::unique_ptr<JsonServer>> JsonServer::Make(Options options) {
  GALEN_RETURN_IF_ERROR(http::CheckServer(options.what, options.url, options.credentials.key,
                                          options.credentials.headers));
  return std::unique_ptr<JsonServer>(new JsonServer(std::move(options)));
}

std::string JsonServer::name() const { return absl::StrCat(options_.what, " ", options_.url); }

absl::StatusOr<nlohmann::json> JsonServer::Ask(http::Request request) {
  const auto named = [this](const absl::Status& status) {
    const std::string what = http::WithoutSecrets(status.message(), options_.credentials.key,
                                                  options_.credentials.headers);
    // (Messages of the connection name the server already.)
    return absl::Status(status.code(), absl::StartsWith(what, absl::StrCat(options_.what, " "))
                                           ? what
                                           : absl::StrCat(name(), ": ", what));
  };
  request.most_bytes = options_.most_bytes;
  http::AddHeaders(options_.credentials.headers, request);
  const absl::StatusOr<http::Reply> reply = transport_->Send(request, options_.credentials.key);
  if (!reply.ok()) {
    // An answer that is too large is not corrupt.
    const bool large = absl::IsDataLoss(reply.status()) &&
                       absl::StrContains(reply.status().message(), "longer than");
    return named(large ? absl::ResourceExhaustedError(reply.status().message()) : reply.status());
  }
  if (reply->code < 200 || reply->code >= 300) return named(ErrorOf(reply->code, reply->body));
  if (!JsonKeepsTo(kJson, reply->body)) {
    return named(absl::ResourceExhaustedError("the answer has too many values, or nests too deep"));
  }
  nlohmann::json json = ParseJson(reply->body, kJson);
  if (!json.is_object()) {
    return named(
        absl::DataLossError(absl::StrCat("the answer is not JSON, or ends early: \"",
                                         CleanText(reply->body, 60), "\"; look at the address")));
  }
  return json;
}

}  // namespace galen::log_sources
