#ifndef SERVICES_ORCHESTRATOR_SCREENING_H_
#define SERVICES_ORCHESTRATOR_SCREENING_H_

#include "services/orchestrator/diagnosis_state.h"
#include "services/orchestrator/effect.h"

namespace galen::orchestrator {

// Steps after which a screening ends whatever planning still wants.
inline constexpr int kMaxScreens = 64;

// Searches with a few checks, step by step: planning is asked, its answer is carried out
// (hypotheses are tested, or checks run), and planning is asked again until it wants no more. Empty
// then, or if planning gives no answer. Pure.
Decision SearchByScreening(const State& state);

// Planning wants no more: no check is left that could confirm a cause.
bool IsScreenedOut(const State& state);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_SCREENING_H_
