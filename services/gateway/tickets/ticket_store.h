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

// A stored value with the version that was read, which a change must name.
template <typename Message>
struct Stored {
  Message value;
  std::int64_t version = 0;
};

// The tickets in the records of the store: due deliveries, dead letters, and open tickets.
// Thread-safe; errors as of store::Records (ABORTED: it changed since it was read).
class TicketStore {
 public:
  // `records` must outlive it.
  explicit TicketStore(store::Records& records) : records_(records) {}

  using Due = Stored<v1::TicketDue>;
  // Makes event `sequence` of a diagnosis due at a target. A dead letter about it becomes due
  // again, too. Idempotent.
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
  // Moves it from the due deliveries to the dead letters.
  absl::Status MoveToDeadLetters(const std::string& target, const Due& due);
  // All of a target, or of all for "", by target and diagnosis.
  absl::StatusOr<std::vector<DeadLetter>> ListDead(const std::string& target);
  // Makes it due again. NOT_FOUND: there is no such dead letter.
  absl::Status Replay(const std::string& target, const std::string& diagnosis, absl::Time now);

  using Ticket = Stored<v1::Ticket>;
  absl::StatusOr<std::optional<Ticket>> GetTicket(const std::string& target,
                                                  const std::string& diagnosis);
  absl::Status PutTicket(Ticket& ticket);
  // The diagnosis of the ticket with this id.
  absl::StatusOr<std::optional<std::string>> DiagnosisOf(const std::string& target,
                                                         const std::string& id);
  // Those after "target/diagnosis".
  absl::StatusOr<std::vector<v1::Ticket>> ListTickets(const std::string& after, int limit);

 private:
  store::Records& records_;
};

}  // namespace galen::gateway::tickets

#endif  // SERVICES_GATEWAY_TICKETS_TICKET_STORE_H_
