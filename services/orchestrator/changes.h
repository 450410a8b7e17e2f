#ifndef SERVICES_ORCHESTRATOR_CHANGES_H_
#define SERVICES_ORCHESTRATOR_CHANGES_H_

#include <vector>

#include "galen/v1/diagnosis.pb.h"
#include "services/orchestrator/diagnosis_state.h"

namespace galen::orchestrator {

// What the answer that began this round changed: causes that are judged otherwise, checks that say
// otherwise, and where the customer's output and a machine contradict each other. What matters most
// comes first. Empty in the first round. Pure.
std::vector<v1::Change> ChangesOf(const State& state);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_CHANGES_H_
