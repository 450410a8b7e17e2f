#ifndef SERVICES_GATEWAY_HTTP_HANDLER_H_
#define SERVICES_GATEWAY_HTTP_HANDLER_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "services/gateway/http/message.h"

namespace galen::gateway::http {

// The answer to one request: either whole, by Respond(), or as it comes, by Begin(), Write() and
// End(). Thread-safe but for what says otherwise; nothing blocks. An exchange that is dropped
// unanswered answers 500.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // The whole answer. The server adds framing, and compresses where the client takes it.
  virtual void Respond(Response response) = 0;

  // The head of an answer whose body follows as it comes, uncompressed; its `body` is the first
  // piece of it.
  virtual void Begin(Response head) = 0;
  // The next piece. False, and nothing is taken, when the client is gone, or when more waits for
  // the client than the server's limit allows: try again when there is room.
  virtual bool Write(std::string piece) = 0;
  // Ends it, once what was written has been sent.
  virtual void End() = 0;

  // What to do when all that was written has been sent, each time; and when the client is gone
  // before the answer is complete, once, even if it was gone already. Called on a thread of the
  // server, never two at a time. Set them before Begin() or Respond().
  virtual void OnRoom(absl::AnyInvocable<void()> room) = 0;
  virtual void OnHangUp(absl::AnyInvocable<void()> gone) = 0;
};

// What answers requests.
class Handler {
 public:
  virtual ~Handler() = default;
  // Answers now or later. On a thread of the server: must not block.
  virtual void Handle(Request request, std::shared_ptr<Exchange> exchange) = 0;
  // The answer to a request that the server itself refuses, which then closes the connection:
  // 400, 408, 413, 431, 503 with a sentence why.
  virtual Response Refuse(int status, const std::string& why) = 0;
};

}  // namespace galen::gateway::http

#endif  // SERVICES_GATEWAY_HTTP_HANDLER_H_
