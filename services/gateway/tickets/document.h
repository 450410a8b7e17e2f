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

// Who reads the tickets of a target.
enum class Reader : std::uint8_t { kCustomer, kProvider };

// What a ticket says of a diagnosis, in whatever system it stands.
struct TicketDocument {
  // For the fields of a ticket, one line each: `mark` (names the diagnosis in every system, of 30
  // characters of a-z, 0-9 and "-"), `uuid` (likewise, as a UUID), `diagnosis`, `tenant`, `state`
  // ("concluded", "escalated", "awaiting_feedback", "failed", "cancelled", "running"), `headline`,
  // `cause` and `cause_label` ("" when none is confirmed or presumed), `owner`, `severity` ("low",
  // "medium", "high", "critical"), `node`, `device`, `time` (RFC 3339), `sequence`, `url`.
  std::map<std::string, std::string> values;
  std::vector<Block> body;     // all of it
  std::vector<Block> comment;  // what has come to pass, in short
};

// "galen-" and 24 hexadecimal digits: what the diagnosis of this name is known by in ticket
// systems.
std::string MarkOf(absl::string_view diagnosis);

// The word that tickets and their settings have for a state: "concluded", "awaiting_feedback".
absl::string_view StateName(galen::v1::Diagnosis::State state);

// What to file, bounded whatever the report holds: evidence, hypotheses and next steps are cut to
// their first ones. Serial numbers are for providers alone. `console` is the address of the
// console, to which "/" and the name of the diagnosis is added; "": no link. Pure.
TicketDocument DocumentOf(const galen::v1::Diagnosis& diagnosis, absl::string_view console,
                          Reader audience);

}  // namespace galen::gateway::tickets

#endif  // SERVICES_GATEWAY_TICKETS_DOCUMENT_H_
