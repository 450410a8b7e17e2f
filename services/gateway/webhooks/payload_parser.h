#ifndef SERVICES_GATEWAY_WEBHOOKS_PAYLOAD_PARSER_H_
#define SERVICES_GATEWAY_WEBHOOKS_PAYLOAD_PARSER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "galen/gateway/v1/webhooks.pb.h"
#include "services/gateway/http/message.h"
#include "services/gateway/webhooks/endpoints.h"

// The events and tickets of a delivery. All are pure.
namespace galen::gateway::webhooks {

// An event of a ticket, which may be one of ours.
struct TicketEvent {
  enum class Kind : std::uint8_t { kComment, kClosed, kOther };
  std::string target;  // as the endpoint has it
  std::string tenant;
  std::string ticket;
  Kind kind = Kind::kOther;
  std::string author;
  std::string text;
  std::string delivery;  // the same in a repeated delivery
};

struct ParsedDelivery {
  std::vector<TicketEvent> notes;  // from endpoints of ticket systems
  bool probe = false;              // it only asks whether anybody is there
  std::vector<v1::WebhookEvent> events;
  std::vector<std::string> ignored;  // why, a sentence each
};

// Parses a verified request. INVALID_ARGUMENT: the body is not one of this sender.
absl::StatusOr<ParsedDelivery> ParseDelivery(const Endpoint& endpoint,
                                             const http::Request& request);

// Parses what a poll found: `item` becomes the body of a delivery.
absl::StatusOr<ParsedDelivery> ParsePolledItem(const Endpoint& endpoint, const Document& item);

// The time in a text, in the forms of senders: RFC 3339 with any number of digits, "2026-11-18
// 03:15:39" (UTC), or a number of seconds, milliseconds, microseconds or nanoseconds since 1970.
// Nothing if it is invalid, or not between 2000 and 2200.
std::optional<absl::Time> ParseEventTime(absl::string_view text);

}  // namespace galen::gateway::webhooks

#endif  // SERVICES_GATEWAY_WEBHOOKS_PAYLOAD_PARSER_H_
