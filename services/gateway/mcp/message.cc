#include "services/gateway/mcp/message.h"

#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/json_access.h"
#include "common/base/text.h"

namespace galen::gateway::mcp {
namespace {

using nlohmann::json;

constexpr int kMostDepth = 64;
constexpr char kMetaVersion[] = "io.modelcontextprotocol/protocolVersion";
constexpr char kMetaCapabilities[] = "io.modelcontextprotocol/clientCapabilities";
constexpr absl::string_view kLegacyVersions[] = {"2025-11-25", "2025-06-18", "2025-03-26"};

json Supported() {
  json versions = json::array({std::string(kModernVersion)});
  for (const absl::string_view version : kLegacyVersions) versions.push_back(std::string(version));
  return versions;
}

bool IsLegacy(absl::string_view version) {
  for (const absl::string_view known : kLegacyVersions) {
    if (known == version) return true;
  }
  return false;
}

std::optional<json> ParseBounded(const std::string& text) {
  json document = ParseJson(text, {.depth = kMostDepth});
  if (document.is_discarded()) return std::nullopt;
  return document;
}

std::string TextOf(const json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

// A header's value, which may be encoded as =?base64?...?= if it is not plain ASCII.
std::string Decoded(absl::string_view value) {
  absl::string_view inner = value;
  if (absl::ConsumePrefix(&inner, "=?base64?") && absl::ConsumeSuffix(&inner, "?=")) {
    std::string text;
    if (absl::Base64Unescape(inner, &text)) return text;
  }
  return std::string(value);
}

// The mismatch between the body of a modern request and the headers that repeat it, if any.
std::optional<std::string> Mismatch(const http::Request& request, const Ask& ask,
                                    const std::string& version) {
  const std::string target = ask.method == "tools/call"       ? TextOf(ask.params, "name")
                             : ask.method == "resources/read" ? TextOf(ask.params, "uri")
                                                              : "";
  const std::pair<absl::string_view, const std::string*> repeated[] = {
      {"MCP-Protocol-Version", &version}, {"Mcp-Method", &ask.method}, {"Mcp-Name", &target}};
  for (const auto& [name, value] : repeated) {
    if (value->empty()) continue;
    const std::string said = Decoded(request.headers.Get(name));
    if (said == *value) continue;
    return absl::StrCat("Header mismatch: ", name, " header value '", CleanText(said, 80),
                        "' does not match body value '", CleanText(*value, 80), "'");
  }
  return std::nullopt;
}

}  // namespace

http::Response Reply(const json& message, int status) {
  http::Response response;
  response.status = status;
  response.headers.Add("Content-Type", "application/json");
  response.headers.Add("Cache-Control", "no-store");
  response.body = message.dump(-1, ' ', false, json::error_handler_t::replace);
  return response;
}

json ErrorOf(const Ask& ask, int code, absl::string_view message, json data) {
  json error = {{"code", code}, {"message", std::string(message)}};
  if (!data.is_null()) error["data"] = std::move(data);
  return {{"jsonrpc", "2.0"}, {"id", ask.id}, {"error", std::move(error)}};
}

json ResultOf(const Ask& ask, json result) {
  if (ask.era == Era::kModern) result["resultType"] = "complete";
  return {{"jsonrpc", "2.0"}, {"id", ask.id}, {"result", std::move(result)}};
}

json ProgressOf(const Ask& ask, double progress, absl::string_view message) {
  return {{"jsonrpc", "2.0"},
          {"method", "notifications/progress"},
          {"params",
           {{"progressToken", ask.progress_token},
            {"progress", progress},
            {"message", std::string(message)}}}};
}

std::variant<Ask, http::Response> Read(const http::Request& request) {
  Ask ask;
  const absl::string_view accept = request.headers.Get("Accept");
  ask.takes_stream = absl::StrContains(accept, "text/event-stream") || accept == "*/*";
  std::optional<json> document = ParseBounded(request.body);
  if (!document.has_value()) {
    return Reply(ErrorOf(ask, kParseError, "The body is not JSON, or nests too deep"), 400);
  }
  const auto invalid = [&](absl::string_view why) {
    return Reply(ErrorOf(ask, kInvalidRequest, why), 400);
  };
  // The protocol dropped lists of messages in 2025-06-18.
  if (!document->is_object()) return invalid("The body is not one JSON-RPC message");
  if (TextOf(*document, "jsonrpc") != "2.0") return invalid("\"jsonrpc\" is not \"2.0\"");
  ask.method = TextOf(*document, "method");
  if (ask.method.empty()) return invalid("There is no \"method\"");
  if (const auto id = document->find("id"); id != document->end()) {
    if (!id->is_string() && !id->is_number_integer()) {
      return invalid("\"id\" is neither text nor a whole number");
    }
    ask.id = *id;
  }
  if (const auto params = document->find("params"); params != document->end()) {
    if (!params->is_object()) return invalid("\"params\" is not an object");
    ask.params = *params;
  }
  const auto meta_it = ask.params.find("_meta");
  const json meta = meta_it != ask.params.end() && meta_it->is_object() ? *meta_it : json::object();
  if (const auto token = meta.find("progressToken");
      token != meta.end() && (token->is_string() || token->is_number_integer())) {
    ask.progress_token = *token;
  }
  const std::string header(request.headers.Get("MCP-Protocol-Version"));
  const std::string version = TextOf(meta, kMetaVersion);
  if (version.empty() && header != kModernVersion) {
    // "initialize" settles the version; a client that names none afterwards speaks 2025-03-26.
    ask.era = Era::kLegacy;
    if (!header.empty() && !IsLegacy(header)) {
      return Reply(ErrorOf(ask, kUnsupportedVersion, "Unsupported protocol version",
                           {{"supported", Supported()}, {"requested", CleanText(header, 80)}}),
                   400);
    }
    return ask;
  }
  if (version.empty() || !meta.contains(kMetaCapabilities)) {
    return Reply(
        ErrorOf(ask, kInvalidParams,
                absl::StrCat("params._meta must have ", kMetaVersion, " and ", kMetaCapabilities)),
        400);
  }
  if (version != kModernVersion) {
    return Reply(ErrorOf(ask, kUnsupportedVersion, "Unsupported protocol version",
                         {{"supported", Supported()}, {"requested", CleanText(version, 80)}}),
                 400);
  }
  if (const auto wrong = Mismatch(request, ask, version); wrong.has_value()) {
    return Reply(ErrorOf(ask, kHeaderMismatch, *wrong), 400);
  }
  return ask;
}

}  // namespace galen::gateway::mcp
