#ifndef SERVICES_ORCHESTRATOR_DECIDER_H_
#define SERVICES_ORCHESTRATOR_DECIDER_H_

#include "services/orchestrator/diagnosis_state.h"
#include "services/orchestrator/effect.h"

namespace galen::orchestrator {

// The next step of the diagnosis: summarize, search by its strategy, conclude. Nothing when it is
// at rest. A function of the state alone: after a crash the same log asks for the same calls, which
// are those whose outcome it does not hold. Pure.
Decision Decide(const State& state);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_DECIDER_H_
