#ifndef SERVICES_GATEWAY_TICKETS_DELIVERY_PLANNER_H_
#define SERVICES_GATEWAY_TICKETS_DELIVERY_PLANNER_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "galen/gateway/v1/tickets.pb.h"
#include "galen/v1/diagnosis.pb.h"
#include "services/gateway/tickets/exchange.h"

namespace galen::gateway::tickets {

// The next step for one diagnosis at one target.
enum class Step : std::uint8_t { kDone, kWait, kFind, kOpen, kUpdate, kComment, kResolve };
// "find", "open", ...
absl::string_view NameOf(Step step);

struct Situation {
  v1::TicketDue due;
  std::optional<v1::Ticket> ticket;
  galen::v1::Diagnosis::State state = galen::v1::Diagnosis::STATE_UNSPECIFIED;
  // There is no ticket: the target was searched just now.
  bool looked = false;
};

struct Decision {
  Step step = Step::kDone;
  absl::Time at;  // kWait: until then
};

// Keeps one ticket for a diagnosis, with its latest state. It searches for a ticket before it opens
// one, and assumes that there is none only once the target would list a ticket whose opening was
// not acknowledged. Pure.
Decision NextStep(const Target& target, const Situation& situation, absl::Time now);

// Records a failed step: the time of the next attempt (exponential with jitter, `chance` in [0, 1),
// not before the target allows it), or a dead letter if the target refused it or it has failed for
// three days. Pure.
void Fail(const Outcome& outcome, absl::Time now, double chance, v1::TicketDue& due);
bool IsDead(const v1::TicketDue& due);

// The pause after `failures` in a row: 5 s, doubling, at most 5 min; half of it jitter.
absl::Duration PauseAfter(int failures, double chance);

constexpr absl::Duration kGiveUpAfter = absl::Hours(72);

}  // namespace galen::gateway::tickets

#endif  // SERVICES_GATEWAY_TICKETS_DELIVERY_PLANNER_H_
