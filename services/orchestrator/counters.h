#ifndef SERVICES_ORCHESTRATOR_COUNTERS_H_
#define SERVICES_ORCHESTRATOR_COUNTERS_H_

#include <array>
#include <cstddef>

#include "common/observability/metrics/numbers.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::orchestrator {

// Counters of an orchestrator's diagnoses. Thread-safe.
struct OrchestratorCounters {
  // Tenants with counters of their own; the others share theirs.
  static constexpr std::size_t kMostTenants = 64;
  // Steps that may be counted: what stands before the first "/" of an effect's id.
  static constexpr std::size_t kMostSteps = 16;
  static constexpr std::array<double, 12> kDiagnosisBounds = {0.1, 0.25, 0.5, 1,   2.5,  5,
                                                              10,  30,   60,  300, 1800, 7200};
  static constexpr std::array<double, 12> kAppendBounds = {
      0.0002, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5};

  struct Tenant {
    metrics::Counter created;
    metrics::Counter shed;
  };
  struct InactiveCounters {
    metrics::Counter count;
    metrics::Times<kDiagnosisBounds.size()> times{kDiagnosisBounds};
  };

  metrics::ByValue<Tenant> tenants{kMostTenants};
  metrics::ByValue<metrics::Counter> step_failures{kMostSteps};
  // By the state in which a diagnosis came to rest.
  std::array<InactiveCounters, v1::Diagnosis::State_ARRAYSIZE> inactive;
  metrics::Counter deleted_by_retention;
  metrics::Counter deleted_by_request;
  metrics::Counter leases_taken;
  metrics::Counter leases_lost;
  metrics::Times<kAppendBounds.size()> appends{kAppendBounds};
  metrics::Counter append_failures;
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_COUNTERS_H_
