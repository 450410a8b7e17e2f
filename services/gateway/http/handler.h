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

// The answer to one request: either whole, by Respond(), or in pieces, by Begin(), Write() and
// End(). Thread-safe except where noted; nothing blocks. An exchange that is dropped unanswered
// answers 500.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // The complete answer. The server adds framing, and compresses if the client accepts it.
  virtual void Respond(Response response) = 0;

  // The head of an answer whose body follows in pieces, uncompressed; its `body` is the first
  // piece.
  virtual void Begin(Response head) = 0;
  // The next piece. False, and nothing is taken, if the client is gone, or if the server's limit
  // for waiting bytes is reached: try again when there is room.
  virtual bool Write(std::string piece) = 0;
  // Ends the answer, once everything written has been sent.
  virtual void End() = 0;

  // `room` is called each time that everything written has been sent. `gone` is called once if the
  // client leaves before the answer is complete, even if it had left already. Both run on a thread
  // of the server, never two at a time. Set them before Begin() or Respond().
  virtual void OnRoom(absl::AnyInvocable<void()> room) = 0;
  virtual void OnHangUp(absl::AnyInvocable<void()> gone) = 0;
};

// A body in transit. The client can send no faster than it is read here; until the first Read() a
// client that waits for "100 Continue" sends nothing of it. Thread-safe; nothing blocks.
class BodyPieces {
 public:
  virtual ~BodyPieces() = default;
  // Asks for the next piece, of at most 64 KiB; "" is the end. `take` is called once, on a thread
  // of the server; there must be no other Read() before. CANCELLED: the client is gone, or was too
  // slow; RESOURCE_EXHAUSTED: there is more than the rules allow; INVALID_ARGUMENT: it is not valid
  // HTTP.
  virtual void Read(absl::AnyInvocable<void(absl::StatusOr<std::string>) &&> take) = 0;
};

// Limits of a body that is taken in pieces: its size and its total time.
struct BodyRules {
  std::uint64_t max_bytes = 0;
  absl::Duration timeout;
};

// A handler's decision about a request whose body is not read yet.
struct HeadVerdict {
  // Answers it, and its body is never read.
  std::optional<Response> refusal = std::nullopt;
  // The account on which the body is held, until the handler has it; "": the client is unknown, and
  // its body shares the little memory for all unknown clients.
  std::string payer = "";
  // Greatest size of the body, in bytes; the server's own limit applies, too.
  std::size_t most_body = std::numeric_limits<std::size_t>::max();
};

// Answers requests.
class Handler {
 public:
  virtual ~Handler() = default;
  // Answers now or later. On a thread of the server: must not block.
  virtual void Handle(Request request, std::shared_ptr<Exchange> exchange) = 0;
  // Whether the body of this request is to be taken in pieces, and its limits. Only the head is
  // there yet: Handle() then comes before the body, and the connection closes after the answer.
  // Nothing: the body is read whole first, within the server's own limits.
  virtual std::optional<BodyRules> TakesPieces(const Request& /*head*/) { return std::nullopt; }
  // Checks a request with a body that is to be read whole, before it is read. On a thread of the
  // server: must not block.
  virtual HeadVerdict LookAtHead(const Request& /*head*/) { return {}; }
  // The answer to a request that the server itself refuses, which then closes the connection:
  // 400, 408, 413, 431, 503 with a sentence why.
  virtual Response Refuse(int status, const std::string& why) = 0;
};

}  // namespace galen::gateway::http

#endif  // SERVICES_GATEWAY_HTTP_HANDLER_H_
