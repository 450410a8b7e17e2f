#ifndef SERVICES_ORCHESTRATOR_DECIDER_H_
#define SERVICES_ORCHESTRATOR_DECIDER_H_

#include "services/orchestrator/diagnosis_state.h"
#include "services/orchestrator/effect.h"

namespace galen::orchestrator {

// What the diagnosis wants next: summarize, search as its strategy says, conclude. Nothing when it
// is at rest. A function of the state alone: after a crash the same log asks for the same calls,
// which are those whose outcome it does not hold. Pure.
Decision Decide(const State& state);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_DECIDER_H_
