#ifndef SERVICES_ORCHESTRATOR_ORCHESTRATOR_METRICS_H_
#define SERVICES_ORCHESTRATOR_ORCHESTRATOR_METRICS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "prometheus/metric_family.h"
#include "services/orchestrator/admission.h"
#include "services/orchestrator/numbers.h"

namespace galen::orchestrator {

// What an orchestrator tells of itself, under the names of common/metrics/catalogue.h. `turns`: who
// runs and waits now; a tenant without numbers of its own in `numbers` is told among the others.
// `leases`: diagnoses that are held. Pure.
std::vector<prometheus::MetricFamily> OrchestratorFamilies(
    const Numbers& numbers, const std::vector<Admission::Turns>& turns, std::size_t leases);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_ORCHESTRATOR_METRICS_H_
