#ifndef SERVICES_ORCHESTRATOR_CALLS_H_
#define SERVICES_ORCHESTRATOR_CALLS_H_

#include <functional>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "common/clients/call.h"
#include "services/orchestrator/agents.h"
#include "services/orchestrator/diagnosis_state.h"
#include "services/orchestrator/effect.h"
#include "services/orchestrator/retry.h"

namespace galen::orchestrator {

// Makes an event from the result of a call, for the state at the time when the event is applied;
// nothing when it is obsolete.
using Outcome = absl::AnyInvocable<std::optional<v1::DiagnosisEvent>(const State&) &&>;

// Takes outcomes, on any thread, and must not block. `ends_call`: it is the last of this call.
using OutcomeSink = std::function<void(Outcome outcome, bool ends_call)>;

// Makes the call that `effect` stands for and returns at once. `sink` gets one outcome that ends
// the call, after one for each check result; `retry_limits` says whether a failure is the last.
// Cancelling it ends running checks; other calls are short and run out.
clients::Cancel StartCall(const Agents& agents, const State& state, const Effect& effect,
                          absl::Time deadline, const RetryLimits& retry_limits, OutcomeSink sink);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_CALLS_H_
