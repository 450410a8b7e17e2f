#ifndef SERVICES_GATEWAY_TICKETS_SCANNER_H_
#define SERVICES_GATEWAY_TICKETS_SCANNER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/store/event_log.h"
#include "common/store/records.h"
#include "galen/gateway/v1/tickets.pb.h"
#include "services/gateway/tickets/site.h"
#include "services/gateway/tickets/ticket_store.h"

namespace galen::gateway::tickets {

// Finds new events in the event logs and makes them due at the ticket systems that want them. It
// needs no notification: a diagnosis that concluded while no gateway ran is found when one does. If
// several scanners share a store, one works at a time; two at once would do the same thing. Not
// thread-safe.
class Scanner {
 public:
  // `owner` names this process. All must outlive it.
  Scanner(store::EventLog& events, store::Records& records, const Site& site, const Clock& clock,
          std::string owner);

  // Reads once the new entries in the list of diagnoses and in the followed logs.
  absl::Status Scan();

 private:
  // The progress of a followed diagnosis.
  struct Followed {
    std::int64_t last = 0;  // that was read
    std::int64_t told = 0;  // up to which deliveries were made due
    std::string state;      // "running", "concluded", ...
    absl::Time last_event;
    absl::Time next_look;
  };
  absl::StatusOr<bool> Lead();
  absl::Status FindNew();
  absl::Status Follow();
  absl::Status Look(const std::string& name, const store::Record& record);
  absl::Status MakeDue(const std::string& name, const std::string& state, std::int64_t sequence);
  absl::Status PutScan();

  store::EventLog& events_;
  store::Records& records_;
  const Site& site_;
  const Clock& clock_;
  const std::string owner_;
  TicketStore tickets_;
  Stored<v1::TicketScan> scan_;
  bool began_now_ = false;
  std::map<std::string, Followed> followed_;
};

}  // namespace galen::gateway::tickets

#endif  // SERVICES_GATEWAY_TICKETS_SCANNER_H_
