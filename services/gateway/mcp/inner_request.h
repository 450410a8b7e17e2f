#ifndef SERVICES_GATEWAY_MCP_INNER_REQUEST_H_
#define SERVICES_GATEWAY_MCP_INNER_REQUEST_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "common/base/executor.h"
#include "services/gateway/http/handler.h"
#include "services/gateway/http/message.h"

// Requests of one part of the gateway to another, in the form of requests over the network: the
// same keys, tenants, limits and rules apply, since nothing bypasses them.
namespace galen::gateway::mcp {

// Asks `handler` and gives its complete answer to `done`, once, on a thread of `executor` (both
// must outlive the answer). The returned handle hangs up when it is called: the answer may then be
// missing, but `done` is still called once (with status 499) if it was not yet.
std::function<void()> AskInner(http::Handler& handler, Executor& executor, http::Request request,
                               absl::AnyInvocable<void(http::Response) &&> done);

// An item of an event stream: one server-sent event, or a comment (both texts empty).
struct StreamEvent {
  std::string event;  // "message" where none is named
  std::string id;
  std::string data;
};
// Asks `handler` for a stream. `on_event` gets each event and each comment in order; false hangs
// up. `done` gets the head of the answer at the end, once; also the body if it is not a stream.
std::function<void()> FollowInner(http::Handler& handler, Executor& executor, http::Request request,
                                  std::function<bool(const StreamEvent&)> on_event,
                                  absl::AnyInvocable<void(http::Response) &&> done);

}  // namespace galen::gateway::mcp

#endif  // SERVICES_GATEWAY_MCP_INNER_REQUEST_H_
