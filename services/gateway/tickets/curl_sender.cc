#include "services/gateway/tickets/curl_sender.h"

#include <algorithm>
#include <utility>

#include "common/base/steady.h"

namespace galen::gateway::tickets {
namespace {

constexpr std::size_t kMostBody = std::size_t{8} << 20;

}  // namespace

absl::StatusOr<HttpAnswer> CurlSender::Send(const HttpCall& call, absl::Duration timeout) {
  galen::http::Request request;
  galen::http::Sent sent;
  request.method = call.method;
  request.target = call.url;
  request.accept.clear();  // the ticket system's own headers say it
  request.headers = call.headers;
  if (call.method != "GET") request.body = call.body;
  request.deadline = SteadyNow() + std::max(timeout, absl::Milliseconds(1));
  request.cancellation = &stopping_;
  request.most_bytes = kMostBody;
  request.sent = &sent;
  if (stopping_.cancelled()) return absl::FailedPreconditionError("the gateway stops");
  absl::StatusOr<galen::http::Reply> reply = transport_.Send(request, galen::http::Secret());
  if (reply.ok()) return HttpAnswer{reply->code, std::move(reply->body), reply->retry_after};
  if (sent.may_have_arrived) return absl::UnavailableError(reply.status().message());
  return absl::FailedPreconditionError(reply.status().message());
}

}  // namespace galen::gateway::tickets
