#ifndef SERVICES_ORCHESTRATOR_RECHECK_H_
#define SERVICES_ORCHESTRATOR_RECHECK_H_

#include "services/orchestrator/diagnosis_state.h"
#include "services/orchestrator/effect.h"

namespace galen::orchestrator {

// What stands in the ids of effects for looking again after an answer.
inline constexpr absl::string_view kRecheckBatch = "again";

// How a round begins that an answer started: what came with the answer is read by checks, the
// checks that ran before it run again (of live machines: a capture does not change), and what was
// judged before is judged anew, by what is known now. Empty in the first round, and when all of it
// is done. Pure.
Decision Recheck(const State& state);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_RECHECK_H_
