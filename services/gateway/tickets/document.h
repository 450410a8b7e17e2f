#ifndef SERVICES_GATEWAY_TICKETS_DOCUMENT_H_
#define SERVICES_GATEWAY_TICKETS_DOCUMENT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "galen/v1/diagnosis.pb.h"
#include "services/gateway/tickets/blocks.h"

namespace galen::gateway::tickets {

// The audience of a target's tickets.
enum class Reader : std::uint8_t { kCustomer, kProvider };

// The content of a ticket about a diagnosis, in any ticket system.
struct TicketDocument {
  // For the fields of a ticket, one line each: `mark` (names the diagnosis in every system, of 30
  // characters of a-z, 0-9 and "-"), `uuid` (likewise, as a UUID), `diagnosis`, `tenant`, `state`
  // ("concluded", "escalated", "awaiting_feedback", "failed", "cancelled", "running"), `headline`,
  // `cause` and `cause_label` ("" when none is confirmed or presumed), `owner`, `severity` ("low",
  // "medium", "high", "critical"), `node`, `device`, `time` (RFC 3339), `sequence`, `url`.
  std::map<std::string, std::string> values;
  std::vector<Block> body;     // all of it
  std::vector<Block> comment;  // the current state, in short
};

// "galen-" and 24 hexadecimal digits: the mark of the diagnosis of this name in ticket systems.
std::string MarkOf(absl::string_view diagnosis);

// The word for a state in tickets and their settings: "concluded", "awaiting_feedback".
absl::string_view StateName(galen::v1::Diagnosis::State state);

// The document of a diagnosis. Its size is bounded: evidence, hypotheses and next steps are cut to
// the first ones. Serial numbers are for providers alone. `console` is the address of the console,
// to which "/" and the name of the diagnosis are added; "": no link. Pure.
TicketDocument DocumentOf(const galen::v1::Diagnosis& diagnosis, absl::string_view console,
                          Reader audience);

}  // namespace galen::gateway::tickets

#endif  // SERVICES_GATEWAY_TICKETS_DOCUMENT_H_
