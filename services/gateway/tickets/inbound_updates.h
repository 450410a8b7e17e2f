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

// What a ticket system tells of a ticket. Its origin was proven; its texts are a stranger's.
struct TicketUpdate {
  enum class Kind : std::uint8_t { kComment, kClosed };
  std::string target;     // as the site names it
  std::string ticket_id;  // as the answer to opening it gave it
  Kind kind = Kind::kComment;
  std::string author;    // account, as the system names it
  std::string text;      // of the comment, or of its closing
  std::string delivery;  // names this update: the same update twice is taken once
};

// What became of it, for logs and the sender.
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

// Gives feedback to a diagnosis: DiagnosisService.SubmitFeedback. Thread-safe; blocks.
using SubmitFeedback = std::function<absl::Status(const galen::v1::SubmitFeedbackRequest&)>;

// Makes feedback of what people do with tickets. A comment is feedback as it is; one with a line
// "galen confirm LABEL" confirms that cause, and so does closing a ticket with such a line, or,
// where the target has close_confirms, without one: then the report's primary cause. Who writes in
// a ticket acts for the tenant whose diagnosis it is, and approves nothing. Thread-safe; blocks.
class InboundUpdates {
 public:
  // All must outlive it.
  InboundUpdates(const Site& site, store::Records& records, DiagnosisSource& source,
                 const Clock& clock, SubmitFeedback submit);

  // UNAVAILABLE and the like: bring it again.
  absl::StatusOr<UpdateResult> Apply(const TicketUpdate& update);

 private:
  absl::Status RecordClosing(const TicketUpdate& update, const std::string& diagnosis);

  const Site& site_;
  TicketStore tickets_;
  DiagnosisSource& source_;
  const Clock& clock_;
  const SubmitFeedback submit_;
};

// The label of a line "galen confirm LABEL"; "" when there is none. Pure.
std::string ConfirmedIn(absl::string_view text);
// Whether the text is one that we wrote about the diagnosis, and not one that quotes it. Pure.
bool IsOurs(absl::string_view text, const std::string& diagnosis);

}  // namespace galen::gateway::tickets

#endif  // SERVICES_GATEWAY_TICKETS_INBOUND_UPDATES_H_
