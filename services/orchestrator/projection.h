#ifndef SERVICES_ORCHESTRATOR_PROJECTION_H_
#define SERVICES_ORCHESTRATOR_PROJECTION_H_

#include "galen/v1/diagnosis.pb.h"
#include "services/orchestrator/diagnosis_state.h"

namespace galen::orchestrator {

// The public resource. Hypotheses that are being tested are EXPLORING. Pure.
v1::Diagnosis ToDiagnosis(const State& state);

// The same without check results, reasoning and evidence, as lists show it. Pure.
v1::Diagnosis ToListedDiagnosis(const State& state);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_PROJECTION_H_
