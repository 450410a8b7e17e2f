#ifndef SERVICES_GATEWAY_MCP_MESSAGE_H_
#define SERVICES_GATEWAY_MCP_MESSAGE_H_

#include <string>
#include <variant>

#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"
#include "services/gateway/http/message.h"

// JSON-RPC 2.0 over HTTP by the Model Context Protocol, in both of its eras: since revision
// 2026-07-28 each request is independent and has its version in `_meta`; before, a client sent
// `initialize` first. Pure.
namespace galen::gateway::mcp {

enum class Era { kModern, kLegacy };

inline constexpr absl::string_view kModernVersion = "2026-07-28";

// A client's request.
struct Ask {
  Era era = Era::kModern;
  nlohmann::json id;  // text or number; null for a notification, which gets no answer but 202
  std::string method;
  nlohmann::json params = nlohmann::json::object();
  nlohmann::json progress_token;  // null: no progress is wanted
  bool takes_stream = false;      // by its Accept
};

// A POST to /mcp as an Ask, or the answer that refuses it. The server's size limit for bodies
// applies; a document may nest 64 levels.
std::variant<Ask, http::Response> Read(const http::Request& request);

// Answers, as JSON-RPC messages. `result` gets the fields of its era.
nlohmann::json ResultOf(const Ask& ask, nlohmann::json result);
nlohmann::json ErrorOf(const Ask& ask, int code, absl::string_view message,
                       nlohmann::json data = nullptr);
nlohmann::json ProgressOf(const Ask& ask, double progress, absl::string_view message);
// The HTTP answer with one message.
http::Response Reply(const nlohmann::json& message, int status = 200);

// Codes of JSON-RPC 2.0 section 5.1, and of MCP 2026-07-28.
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kHeaderMismatch = -32020;
inline constexpr int kUnsupportedVersion = -32022;

}  // namespace galen::gateway::mcp

#endif  // SERVICES_GATEWAY_MCP_MESSAGE_H_
