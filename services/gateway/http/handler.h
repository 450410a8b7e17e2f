#ifndef SERVICES_GATEWAY_HTTP_HANDLER_H_
#define SERVICES_GATEWAY_HTTP_HANDLER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
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

// A body on its way. The client sends no faster than it is asked for here; until the first Read() a
// client that waits for "100 Continue" sends nothing of it. Thread-safe; nothing blocks.
class BodyPieces {
 public:
  virtual ~BodyPieces() = default;
  // Asks for the next piece, of at most 64 KiB; "" is the end. Called back once, on a thread of the
  // server, before which there is no other Read(). CANCELLED: the client is gone, or was too slow;
  // RESOURCE_EXHAUSTED: there is more than the rules allow; INVALID_ARGUMENT: it is no HTTP.
  virtual void Read(absl::AnyInvocable<void(absl::StatusOr<std::string>) &&> take) = 0;
};

// What a body that is taken in pieces may have, and may take in all.
struct BodyRules {
  std::uint64_t max_bytes = 0;
  absl::Duration timeout;
};

// What a handler makes of a request whose body is not read yet.
struct HeadVerdict {
  // Answers it, and its body is never read.
  std::optional<Response> refusal = std::nullopt;
  // On whose account the body is held, until the handler has it; "": nobody knows who it is, so it
  // shares what little there is for all of those.
  std::string payer = "";
  // Bytes of the body, at most; the server's own limit holds besides.
  std::size_t most_body = std::numeric_limits<std::size_t>::max();
};

// What answers requests.
class Handler {
 public:
  virtual ~Handler() = default;
  // Answers now or later. On a thread of the server: must not block.
  virtual void Handle(Request request, std::shared_ptr<Exchange> exchange) = 0;
  // Whether the body of this request, of which only the head is there yet, is to be taken in
  // pieces, and how much of it: Handle() then comes before the body, and the connection closes
  // behind the answer. Nothing: the body is read whole first, within the server's own limits.
  virtual std::optional<BodyRules> TakesPieces(const Request& /*head*/) { return std::nullopt; }
  // Of a request with a body that is to be read whole, before it is. On a thread of the server:
  // must not block.
  virtual HeadVerdict LookAtHead(const Request& /*head*/) { return {}; }
  // The answer to a request that the server itself refuses, which then closes the connection:
  // 400, 408, 413, 431, 503 with a sentence why.
  virtual Response Refuse(int status, const std::string& why) = 0;
};

}  // namespace galen::gateway::http

#endif  // SERVICES_GATEWAY_HTTP_HANDLER_H_
