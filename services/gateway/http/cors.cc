#include "services/gateway/http/cors.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace galen::gateway::http {
namespace {

// Methods and headers beyond those allowed to every page.
constexpr char kMethods[] = "GET, HEAD, POST, PUT, PATCH, DELETE";
constexpr char kRequestHeaders[] =
    "Authorization, X-API-Key, Content-Type, Content-Encoding, Idempotency-Key, Last-Event-ID, "
    "X-Server-Timeout, traceparent, Mcp-Session-Id, MCP-Protocol-Version";
constexpr char kAnswerHeaders[] =
    "X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, X-RateLimit-Limit, "
    "X-RateLimit-Remaining, X-RateLimit-Reset, Location, Mcp-Session-Id";
// The longest time that browsers cache a preflight answer, in seconds (Chromium: two hours).
constexpr char kPreflightGoodFor[] = "7200";

// "https://host" or "http://host:port", in lower case.
bool IsOrigin(absl::string_view text) {
  for (const absl::string_view scheme : {"https://", "http://"}) {
    if (!absl::StartsWith(text, scheme)) continue;
    const absl::string_view host = text.substr(scheme.size());
    if (host.empty()) return false;
    for (const char c : host) {
      if (!absl::ascii_islower(c) && !absl::ascii_isdigit(c) && c != '.' && c != '-' && c != ':' &&
          c != '[' && c != ']') {
        return false;
      }
    }
    return true;
  }
  return false;
}

void Vary(Headers& headers) {
  const std::string before(headers.Get("Vary"));
  headers.Set("Vary", before.empty() ? "Origin" : absl::StrCat(before, ", Origin"));
}

// Permits the page to read the answer.
class CrossOriginExchange final : public Exchange {
 public:
  CrossOriginExchange(std::shared_ptr<Exchange> exchange, std::string origin)
      : exchange_(std::move(exchange)), origin_(std::move(origin)) {}

  void Respond(Response response) override { exchange_->Respond(Allowed(std::move(response))); }
  void Begin(Response head) override { exchange_->Begin(Allowed(std::move(head))); }
  bool Write(std::string piece) override { return exchange_->Write(std::move(piece)); }
  void End() override { exchange_->End(); }
  void OnRoom(absl::AnyInvocable<void()> room) override { exchange_->OnRoom(std::move(room)); }
  void OnHangUp(absl::AnyInvocable<void()> gone) override { exchange_->OnHangUp(std::move(gone)); }

 private:
  Response Allowed(Response response) const {
    response.headers.Set("Access-Control-Allow-Origin", origin_);
    response.headers.Set("Access-Control-Expose-Headers", kAnswerHeaders);
    Vary(response.headers);
    return response;
  }

  const std::shared_ptr<Exchange> exchange_;
  const std::string origin_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Cors>> Cors::Make(const std::vector<std::string>& origins,
                                                 Handler& behind) {
  auto cors = absl::WrapUnique(new Cors(behind));
  for (const std::string& origin : origins) {
    if (origin == "*") {
      cors->every_ = true;
    } else if (IsOrigin(origin)) {
      cors->origins_.insert(origin);
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", origin,
          "\" is not an origin; write https://HOST or https://HOST:PORT, in lower case"));
    }
  }
  return cors;
}

bool Cors::Allows(absl::string_view origin) const { return every_ || origins_.contains(origin); }

void Cors::Handle(Request request, std::shared_ptr<Exchange> exchange) {
  const std::string origin(request.headers.Get("Origin"));
  const bool preflight =
      request.method == "OPTIONS" && request.headers.Has("Access-Control-Request-Method");
  if (origin.empty() || request.headers.Count("Origin") != 1 || !IsOrigin(origin) ||
      !Allows(origin)) {
    // A browser hides the answer from the page, since nothing in it permits that.
    return behind_.Handle(std::move(request), std::move(exchange));
  }
  if (preflight) {
    Response response;
    response.status = 204;
    response.headers.Add("Access-Control-Allow-Origin", origin);
    response.headers.Add("Access-Control-Allow-Methods", kMethods);
    response.headers.Add("Access-Control-Allow-Headers", kRequestHeaders);
    response.headers.Add("Access-Control-Max-Age", kPreflightGoodFor);
    Vary(response.headers);
    return exchange->Respond(std::move(response));
  }
  behind_.Handle(std::move(request),
                 std::make_shared<CrossOriginExchange>(std::move(exchange), origin));
}

std::optional<BodyRules> Cors::TakesPieces(const Request& head) {
  return behind_.TakesPieces(head);
}

HeadVerdict Cors::LookAtHead(const Request& head) {
  HeadVerdict verdict = behind_.LookAtHead(head);
  const std::string origin(head.headers.Get("Origin"));
  if (verdict.refusal && IsOrigin(origin) && Allows(origin)) {
    verdict.refusal->headers.Set("Access-Control-Allow-Origin", origin);
    verdict.refusal->headers.Set("Access-Control-Expose-Headers", kAnswerHeaders);
    Vary(verdict.refusal->headers);
  }
  return verdict;
}

Response Cors::Refuse(int status, const std::string& why) { return behind_.Refuse(status, why); }

}  // namespace galen::gateway::http
