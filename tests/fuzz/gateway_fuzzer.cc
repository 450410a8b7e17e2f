// Fuzzes the input of the gateway: bytes on a connection, and the parsing of paths, queries and
// bodies by the API.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "common/base/text.h"
#include "galen/v1/diagnosis_service.pb.h"
#include "services/gateway/access/api_key.h"
#include "services/gateway/api/customer_rules.h"
#include "services/gateway/api/errors.h"
#include "services/gateway/api/field_filter.h"
#include "services/gateway/api/routes.h"
#include "services/gateway/api/transcode.h"
#include "services/gateway/http/router.h"
#include "services/gateway/http/server.h"
#include "services/gateway/mcp/message.h"
#include "services/gateway/mcp/tools.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

using namespace gateway;  // NOLINT(google-build-using-namespace)

void Require(bool holds) {
  if (!holds) __builtin_trap();
}

const RouteTable& Table() {
  static const auto* const table = new RouteTable(
      RoutesOf(*galen::v1::CreateDiagnosisRequest::descriptor()->file()->FindServiceByName(
                   "DiagnosisService"))
          .value());
  return *table;
}

// Echoes the request.
class Mirror final : public http::Handler {
 public:
  void Handle(http::Request request, std::shared_ptr<http::Exchange> exchange) override {
    http::Response response;
    response.headers.Add("X-Method", request.method);
    response.body = request.target + request.body;
    exchange->Respond(std::move(response));
  }
  http::Response Refuse(int status, const std::string& why) override {
    return ErrorResponse(absl::InvalidArgumentError(why), status);
  }
};

int ServerPort() {
  static auto* const mirror = new Mirror;
  static auto* const router = new http::Router(*mirror);
  static auto* const server = [] {
    http::ServerOptions options;
    options.address = "127.0.0.1:0";
    options.threads = 1;
    options.max_header_bytes = 512;
    options.max_body_bytes = 512;
    return http::Server::Start(options, *router).value().release();
  }();
  return server->port();
}

// For any bytes on a connection, the server answers in HTTP or hangs up, and continues to serve.
void Connection(absl::string_view text) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(ServerPort()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Require(socket >= 0);
  // Ports, and places in the line of who wants in, may be used up for a moment.
  for (int attempt = 0;
       ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0;
       ++attempt) {
    if (attempt == 1000) {
      std::perror("connect");
      Require(false);
    }
    ::usleep(10'000);
  }
  // Its port is free at once: thousands of them that linger would use up all ports.
  const linger at_once{1, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  while (!text.empty()) {
    const ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) break;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  ::shutdown(socket, SHUT_WR);
  std::string answer;
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t got = ::recv(socket, piece.data(), piece.size(), 0);
    if (got <= 0) break;
    answer.append(piece.data(), static_cast<std::size_t>(got));
  }
  ::close(socket);
  Require(answer.empty() || absl::StartsWith(answer, "HTTP/1."));
}

// The first line is a verb and a target, the rest a body.
void Call(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('\n', 1));
  const std::pair<absl::string_view, absl::string_view> asked =
      absl::StrSplit(parts.first, absl::MaxSplits(' ', 1));
  const std::pair<absl::string_view, absl::string_view> target =
      absl::StrSplit(asked.second, absl::MaxSplits('?', 1));
  std::string allowed;
  const auto match = Table().Find(asked.first, target.first, allowed);
  if (!match.ok()) {
    Use(ErrorJson(match.status()));
    return;
  }
  http::Request request;
  request.method = std::string(asked.first);
  request.target = std::string(asked.second);
  request.body = std::string(parts.second);
  request.headers.Add("Content-Type", "application/json");
  const auto made = TranscodeRequest(*match, target.second, request);
  if (!made.ok()) {
    Require(IsUtf8(ErrorJson(made.status())));
    return;
  }
  Use(CheckForCustomer(*made->request));
  Require(ToJson(*made->request).ok());
}

// A body alone survives being written and read again.
void Json(absl::string_view text) {
  std::string allowed;
  static const Match match = Table().Find("POST", "/v1/tenants/acme/diagnoses", allowed).value();
  http::Request request;
  request.method = "POST";
  request.target = "/v1/tenants/acme/diagnoses";
  request.body = std::string(text);
  request.headers.Add("Content-Type", "application/json");
  const auto made = TranscodeRequest(match, "", request);
  if (!made.ok()) {
    Require(IsUtf8(ErrorJson(made.status())));
    return;
  }
  const auto& create = static_cast<const galen::v1::CreateDiagnosisRequest&>(*made->request);
  const auto written = ToJson(create.diagnosis());
  Require(written.ok());
  request.body = *written;
  const auto again = TranscodeRequest(match, "", request);
  Require(again.ok());
  Require(ToJson(*again->request).value() == ToJson(create).value());
}

void Parameters(absl::string_view text) {
  const auto query = ParseQuery(text);
  if (query.ok()) Require(query->size() <= 100);
}

void Key(absl::string_view text) {
  const auto key = ParseKey(text);
  if (key.has_value()) Require(FormatKey(*key) == text);
}

// The requests of an assistant, and the API request that each tool call becomes.
void Assistant(absl::string_view text) {
  http::Request request;
  request.method = "POST";
  request.headers.Add("MCP-Protocol-Version", "2025-11-25");
  request.body = std::string(text);
  const auto read = mcp::Read(request);
  const auto* ask = std::get_if<mcp::Ask>(&read);
  if (ask == nullptr) {
    Require(IsUtf8(std::get<http::Response>(read).body));
    return;
  }
  const auto tool = ask->params.find("name");
  const auto arguments = ask->params.find("arguments");
  if (tool == ask->params.end() || !tool->is_string() || arguments == ask->params.end()) return;
  const auto call = mcp::CallOf(tool->get<std::string>(), *arguments, "acme");
  if (!call.ok() || call->method.empty()) return;
  std::string allowed;
  const std::string path = call->target.substr(0, call->target.find('?'));
  Require(Table().Find(call->method, path, allowed).ok());
}

void Words(absl::string_view text) {
  Use(http::AcceptsGzip(text));
  if (const auto packed = http::Gzip(text)) Require(packed->size() < text.size());
  Use(ErrorJson(absl::InvalidArgumentError(text)));
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> parsers = {
      {"connection", Connection}, {"call", Call}, {"json", Json},
      {"query", Parameters},      {"key", Key},   {"words", Words},
      {"assistant", Assistant},
  };
  return parsers;
}

}  // namespace galen::fuzz
