#ifndef SERVICES_GATEWAY_TICKETS_TICKET_STORE_H_
#define SERVICES_GATEWAY_TICKETS_TICKET_STORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/store/records.h"
#include "galen/gateway/v1/tickets.pb.h"

namespace galen::gateway::tickets {

// Something stored, as it was seen: what a change of it must name.
template <typename Message>
struct Stored {
  Message value;
  std::int64_t version = 0;
};

// What is kept of tickets, in the records of the store: what is due, dead letters, and the tickets
// that there are. Thread-safe; errors as of store::Records (ABORTED: it changed since it was seen).
class TicketStore {
 public:
  // `records` must outlive it.
  explicit TicketStore(store::Records& records) : records_(records) {}

  using Due = Stored<v1::TicketDue>;
  // A target is to be told of event `sequence` of a diagnosis. A dead letter about it comes back to
  // life with it. Idempotent.
  absl::Status MakeDue(const std::string& target, const std::string& diagnosis,
                       std::int64_t sequence, absl::Time now);
  absl::StatusOr<std::optional<Due>> GetDue(const std::string& target,
                                            const std::string& diagnosis);
  // By diagnosis, those after `after`.
  absl::StatusOr<std::vector<Due>> ListDue(const std::string& target, const std::string& after,
                                           int limit);
  // Changes it, and sets its new version.
  absl::Status PutDue(const std::string& target, Due& due);
  absl::Status RemoveDue(const std::string& target, const Due& due);

  struct DeadLetter {
    std::string target;
    v1::TicketDue due;
  };
  // Takes it from what is due to the dead letters.
  absl::Status MoveToDeadLetters(const std::string& target, const Due& due);
  // All of a target, or of all for "", by target and diagnosis.
  absl::StatusOr<std::vector<DeadLetter>> ListDead(const std::string& target);
  // Makes it due again. NOT_FOUND there is no such dead letter.
  absl::Status Replay(const std::string& target, const std::string& diagnosis, absl::Time now);

  using Ticket = Stored<v1::Ticket>;
  absl::StatusOr<std::optional<Ticket>> GetTicket(const std::string& target,
                                                  const std::string& diagnosis);
  absl::Status PutTicket(Ticket& ticket);
  // The diagnosis that a ticket of this id is about.
  absl::StatusOr<std::optional<std::string>> DiagnosisOf(const std::string& target,
                                                         const std::string& id);
  // Those after "target/diagnosis".
  absl::StatusOr<std::vector<v1::Ticket>> ListTickets(const std::string& after, int limit);

 private:
  store::Records& records_;
};

}  // namespace galen::gateway::tickets

#endif  // SERVICES_GATEWAY_TICKETS_TICKET_STORE_H_
