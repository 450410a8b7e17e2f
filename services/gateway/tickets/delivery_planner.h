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

// What is to be done next for one diagnosis at one target.
enum class Step : std::uint8_t { kDone, kWait, kFind, kOpen, kUpdate, kComment, kResolve };
// "find", "open", ...
absl::string_view NameOf(Step step);

struct Situation {
  v1::TicketDue due;
  std::optional<v1::Ticket> ticket;
  galen::v1::Diagnosis::State state = galen::v1::Diagnosis::STATE_UNSPECIFIED;
  // There is none: the target was asked for it just now.
  bool looked = false;
};

struct Decision {
  Step step = Step::kDone;
  absl::Time at;  // kWait: until then
};

// One ticket for a diagnosis, and it tells of the latest state: looks for one before it opens one,
// and believes that there is none only when the target would know by now of one whose opening we
// never heard of. Pure.
Decision NextStep(const Target& target, const Situation& situation, absl::Time now);

// What is to be stored when a step failed: when to try again (exponential with jitter, `chance` in
// [0, 1), and not before the target said), or nothing more, for a dead letter: the target refused
// it, or it has failed for three days. Pure.
void Fail(const Outcome& outcome, absl::Time now, double chance, v1::TicketDue& due);
bool IsDead(const v1::TicketDue& due);

// The pause after so many failures in a row: 5 s, doubling, at most 5 min; half of it jitter.
absl::Duration PauseAfter(int failures, double chance);

constexpr absl::Duration kGiveUpAfter = absl::Hours(72);

}  // namespace galen::gateway::tickets

#endif  // SERVICES_GATEWAY_TICKETS_DELIVERY_PLANNER_H_
