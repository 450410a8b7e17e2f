#ifndef SERVICES_ORCHESTRATOR_ORCHESTRATOR_METRICS_H_
#define SERVICES_ORCHESTRATOR_ORCHESTRATOR_METRICS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "prometheus/metric_family.h"
#include "services/orchestrator/admission.h"
#include "services/orchestrator/counters.h"

namespace galen::orchestrator {

// Metrics of an orchestrator, under the names of common/observability/metrics/catalogue.h. `turns`:
// diagnoses that run and wait now; a tenant without counters of its own in `counters` is counted
// with the others. `leases`: diagnoses that are held. Pure.
std::vector<prometheus::MetricFamily> OrchestratorFamilies(
    const OrchestratorCounters& counters, const std::vector<Admission::Turns>& turns,
    std::size_t leases);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_ORCHESTRATOR_METRICS_H_
