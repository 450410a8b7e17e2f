#ifndef SERVICES_ORCHESTRATOR_CHANGES_H_
#define SERVICES_ORCHESTRATOR_CHANGES_H_

#include <vector>

#include "galen/v1/diagnosis.pb.h"
#include "services/orchestrator/diagnosis_state.h"

namespace galen::orchestrator {

// Changes by the answer that began this round: causes with another verdict, checks with another
// result, and contradictions between the customer's output and a machine. The most important come
// first. Empty in the first round. Pure.
std::vector<v1::Change> ChangesOf(const State& state);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_CHANGES_H_
