#ifndef SERVICES_ORCHESTRATOR_RECHECK_H_
#define SERVICES_ORCHESTRATOR_RECHECK_H_

#include "services/orchestrator/diagnosis_state.h"
#include "services/orchestrator/effect.h"

namespace galen::orchestrator {

// The name in the ids of effects for repeated checks after an answer.
inline constexpr absl::string_view kRecheckBatch = "again";

// Begins a round that an answer started: checks read the answer's evidence, the checks that ran
// before it run again (on live machines: a capture does not change), and earlier verdicts are
// judged again by the present evidence. Empty in the first round, and when all of it is done. Pure.
Decision Recheck(const State& state);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_RECHECK_H_
