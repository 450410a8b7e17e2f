#ifndef SERVICES_ORCHESTRATOR_ORCHESTRATOR_METRICS_H_
#define SERVICES_ORCHESTRATOR_ORCHESTRATOR_METRICS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "prometheus/metric_family.h"
#include "services/orchestrator/admission.h"
#include "services/orchestrator/counters.h"

namespace galen::orchestrator {

// What an orchestrator tells of itself, under the names of
// common/observability/metrics/catalogue.h. `turns`: who runs and waits now; a tenant without
// counters of its own in `counters` is told among the others. `leases`: diagnoses that are held.
// Pure.
std::vector<prometheus::MetricFamily> OrchestratorFamilies(
    const OrchestratorCounters& counters, const std::vector<Admission::Turns>& turns,
    std::size_t leases);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_ORCHESTRATOR_METRICS_H_
