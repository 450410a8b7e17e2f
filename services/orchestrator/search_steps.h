#ifndef SERVICES_ORCHESTRATOR_SEARCH_STEPS_H_
#define SERVICES_ORCHESTRATOR_SEARCH_STEPS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "services/orchestrator/diagnosis_state.h"
#include "services/orchestrator/effect.h"

namespace galen::orchestrator {

// The steps that strategies are made of. Each says what it wants next, by the state alone; an
// empty decision means that the step is done. All are pure.

// A call to an agent. `answered`: its outcome is in the log. Also done when the call has failed
// for good: what that means is the caller's to say (CallFailedForGood).
Decision Call(const State& state, Effect effect, bool answered);
bool CallFailedForGood(const State& state, absl::string_view id);

// An effect of this round.
Effect MakeEffect(const State& state, Effect::Kind kind, absl::string_view what);

// Runs those of `checks` that miss a result of a node, all at once, and ends with ChecksFinished.
// When the call fails for good, the pairs that are missing get ERROR results.
Decision RunChecks(const State& state, absl::string_view what, absl::Span<const std::string> checks,
                   absl::Span<const std::string> for_labels);

// Runs the checks that execution offers to answer at once (telemetry), so that all later steps can
// use them.
Decision RunOpeningChecks(const State& state);

// Whether a step runs checks, or judges by those that have run.
enum class Checks { kRun, kHaveRun };

// Tests hypotheses: runs the checks that decide them, then judges them in one call. A label with a
// CONFIRMED or REJECTED verdict is not judged again. When the call fails for good, the verdicts
// are INCONCLUSIVE.
Decision TestHypotheses(const State& state, absl::string_view what,
                        absl::Span<const std::string> labels, Checks checks = Checks::kRun);

// Judges once more, by what has run, each confirmed cause whose verdict is older than a result:
// what was asked later may have put it in doubt. When the call fails for good, it stays confirmed.
Decision ConfirmAgain(const State& state);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_SEARCH_STEPS_H_
