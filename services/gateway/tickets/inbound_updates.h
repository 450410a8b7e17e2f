#ifndef SERVICES_GATEWAY_TICKETS_INBOUND_UPDATES_H_
#define SERVICES_GATEWAY_TICKETS_INBOUND_UPDATES_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "galen/v1/diagnosis_service.pb.h"
#include "services/gateway/tickets/delivery_worker.h"
#include "services/gateway/tickets/site.h"
#include "services/gateway/tickets/ticket_store.h"

namespace galen::gateway::tickets {

// An event of a ticket, from its system. The origin is verified; the texts are untrusted.
struct TicketUpdate {
  enum class Kind : std::uint8_t { kComment, kClosed };
  std::string target;     // as the site names it
  std::string ticket_id;  // as the answer to opening it gave it
  Kind kind = Kind::kComment;
  std::string author;    // account, as the system names it
  std::string text;      // of the comment, or of its closing
  std::string delivery;  // names this update: the same update twice is taken once
};

// The result of an update, for logs and the sender.
struct UpdateResult {
  enum class Kind : std::uint8_t {
    kFeedback,   // given to the diagnosis
    kConfirmed,  // a cause was confirmed by it
    kRecorded,   // the closing was written down, and says no cause
    kOurs,       // it is what we wrote
    kUnknown,    // no ticket of ours
    kNotTaken,   // the diagnosis does not take it now: `detail`
  };
  Kind kind = Kind::kUnknown;
  std::string diagnosis;
  std::string detail;
};

// Submits feedback to a diagnosis: DiagnosisService.SubmitFeedback. Thread-safe; blocks.
using SubmitFeedback = std::function<absl::Status(const galen::v1::SubmitFeedbackRequest&)>;

// Turns actions of people in tickets into feedback. A comment is feedback as it is; a comment with
// a line "galen confirm LABEL" confirms that cause. Closing a ticket with such a line confirms it
// too; without one, a target with close_confirms confirms the report's primary cause. The author of
// a comment acts for the tenant of the diagnosis, and cannot approve anything. Thread-safe; blocks.
class InboundUpdates {
 public:
  // All must outlive it.
  InboundUpdates(const Site& site, store::Records& records, DiagnosisSource& source,
                 const Clock& clock, SubmitFeedback submit);

  // UNAVAILABLE and the like: try again later.
  absl::StatusOr<UpdateResult> Apply(const TicketUpdate& update);

 private:
  absl::Status RecordClosing(const TicketUpdate& update, const std::string& diagnosis);

  const Site& site_;
  TicketStore tickets_;
  DiagnosisSource& source_;
  const Clock& clock_;
  const SubmitFeedback submit_;
};

// The label of a line "galen confirm LABEL"; "" if there is none. Pure.
std::string ConfirmedIn(absl::string_view text);
// Whether we wrote the text about the diagnosis ourselves; false for a text that quotes ours. Pure.
bool IsOurs(absl::string_view text, const std::string& diagnosis);

}  // namespace galen::gateway::tickets

#endif  // SERVICES_GATEWAY_TICKETS_INBOUND_UPDATES_H_
