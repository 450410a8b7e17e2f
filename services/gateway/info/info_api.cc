#include "services/gateway/info/info_api.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/time_text.h"
#include "services/gateway/api/errors.h"
#include "services/gateway/api/json_response.h"

namespace galen::gateway {
namespace {

using Json = nlohmann::ordered_json;

std::string Text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

InfoApi::InfoApi(Access& access, store::NodeTable& nodes, const Clock& clock, Executor& executor,
                 HotSwap<http::Asset>* knowledge, bool uploads)
    : access_(access),
      nodes_(nodes),
      clock_(clock),
      executor_(executor),
      knowledge_(knowledge),
      uploads_(uploads) {}

http::Response InfoApi::Refuse(int status, const std::string& why) {
  return ErrorResponse(absl::InvalidArgumentError(why), status);
}

absl::StatusOr<std::string> InfoApi::NodesJson() const {
  const absl::StatusOr<std::vector<store::NodeEntry>> nodes = nodes_.List(clock_.Now());
  if (!nodes.ok()) return nodes.status();
  Json list = Json::array();
  for (const store::NodeEntry& node : *nodes) {
    list.push_back(
        {{"name", node.name}, {"address", node.record}, {"expireTime", TimeText(node.expires)}});
  }
  return Text(Json{{"nodes", std::move(list)}});
}

void InfoApi::Handle(http::Request request, std::shared_ptr<http::Exchange> exchange) {
  const auto fail = [&exchange](const absl::Status& status, int http_status = 0) {
    exchange->Respond(ErrorResponse(status, http_status));
  };
  const absl::string_view path =
      absl::string_view(request.target).substr(0, request.target.find('?'));
  if (path != "/v1/whoami" && path != "/v1/knowledge" && path != "/v1/nodes") {
    return fail(absl::NotFoundError("there is no such path"));
  }
  if (request.method != "GET" && request.method != "HEAD") {
    http::Response response = ErrorResponse(
        WithReason(absl::UnimplementedError("this path is read with GET"), "METHOD_NOT_ALLOWED"),
        405);
    response.headers.Add("Allow", "GET, HEAD");
    return exchange->Respond(std::move(response));
  }
  const absl::StatusOr<Principal> principal = access_.Authenticate(request);
  if (!principal.ok()) return fail(principal.status());
  if (path == "/v1/whoami") {
    return exchange->Respond(JsonResponse(Text(Json{{"tenant", principal->tenant},
                                                    {"role", NameOf(principal->role)},
                                                    {"mayRead", principal->Has(kScopeRead)},
                                                    {"mayWrite", principal->Has(kScopeWrite)},
                                                    {"uploads", uploads_}})));
  }
  if (!principal->Has(kScopeRead)) {
    return fail(
        WithReason(absl::PermissionDeniedError("this key does not have the scope diagnoses.read"),
                   "MISSING_SCOPE"));
  }
  if (path == "/v1/knowledge") {
    if (knowledge_ == nullptr) {
      return fail(absl::NotFoundError("this gateway has no knowledge directory (--knowledge)"));
    }
    return exchange->Respond(knowledge_->Get()->AnswerTo(request));
  }
  // The list is of all tenants' nodes.
  if (principal->role < UserRole::kOperator || principal->tenant != "*") {
    return fail(absl::PermissionDeniedError("nodes are shown to operators of all tenants"));
  }
  const bool taken = executor_.TrySchedule([this, exchange] {
    const absl::StatusOr<std::string> nodes = NodesJson();
    exchange->Respond(nodes.ok() ? JsonResponse(*nodes) : ErrorResponse(nodes.status()));
  });
  if (!taken) fail(absl::UnavailableError("too many requests wait for the store; try again"));
}

}  // namespace galen::gateway
