#include "services/orchestrator/orchestrator_metrics.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/strip.h"
#include "common/observability/metrics/registry.h"

namespace galen::orchestrator {
namespace {

using metrics::FamilyOf;
using prometheus::MetricFamily;

double Number(const metrics::Counter& counter) { return static_cast<double>(counter.value()); }

// States of a diagnosis at rest.
constexpr v1::Diagnosis::State kRests[] = {v1::Diagnosis::AWAITING_FEEDBACK,
                                           v1::Diagnosis::SUCCEEDED, v1::Diagnosis::FAILED,
                                           v1::Diagnosis::CANCELLED, v1::Diagnosis::ESCALATED};

MetricFamily TurnsFamily(
    const std::vector<std::pair<std::string, const OrchestratorCounters::Tenant*>>& known,
    const std::vector<Admission::Turns>& turns) {
  std::map<std::string, Admission::Turns> by_tenant;
  for (const auto& [tenant, counters] : known) by_tenant[tenant];
  for (const Admission::Turns& now : turns) {
    auto it = by_tenant.find(now.tenant);
    if (it == by_tenant.end()) it = by_tenant.try_emplace(std::string(metrics::kOther)).first;
    it->second.running += now.running;
    it->second.waiting += now.waiting;
  }
  MetricFamily family = FamilyOf(metrics::kDiagnoses);
  for (const auto& [tenant, now] : by_tenant) {
    metrics::AddTo(family, {{"state", "running"}, {"tenant", tenant}},
                   static_cast<double>(now.running));
    metrics::AddTo(family, {{"state", "waiting"}, {"tenant", tenant}},
                   static_cast<double>(now.waiting));
  }
  return family;
}

}  // namespace

std::vector<MetricFamily> OrchestratorFamilies(const OrchestratorCounters& counters,
                                               const std::vector<Admission::Turns>& turns,
                                               std::size_t leases) {
  const auto tenants = counters.tenants.All();
  MetricFamily created = FamilyOf(metrics::kDiagnosesCreated);
  MetricFamily shed = FamilyOf(metrics::kDiagnosesShed);
  for (const auto& [tenant, counted] : tenants) {
    metrics::AddTo(created, {{"tenant", tenant}}, Number(counted->created));
    metrics::AddTo(shed, {{"tenant", tenant}}, Number(counted->shed));
  }
  MetricFamily ended = FamilyOf(metrics::kDiagnosesEnded);
  MetricFamily seconds = FamilyOf(metrics::kDiagnosisSeconds);
  for (const v1::Diagnosis::State state : kRests) {
    const OrchestratorCounters::InactiveCounters& inactive =
        counters.inactive[static_cast<std::size_t>(state)];
    const std::string& name = v1::Diagnosis::State_Name(state);
    metrics::AddTo(ended, {{"state", name}}, Number(inactive.count));
    metrics::AddTo(seconds, {{"state", name}}, inactive.times.Copy());
  }
  MetricFamily deleted = FamilyOf(metrics::kDiagnosesDeleted);
  metrics::AddTo(deleted, {{"by", "retention"}}, Number(counters.deleted_by_retention));
  metrics::AddTo(deleted, {{"by", "request"}}, Number(counters.deleted_by_request));
  MetricFamily failures = FamilyOf(metrics::kStepFailures);
  for (const auto& [step, count] : counters.step_failures.All()) {
    metrics::AddTo(failures, {{"step", step}}, Number(*count));
  }
  MetricFamily appends = FamilyOf(metrics::kAppendSeconds);
  metrics::AddTo(appends, {}, counters.appends.Copy());
  return {TurnsFamily(tenants, turns),
          std::move(created),
          std::move(shed),
          std::move(ended),
          std::move(seconds),
          std::move(deleted),
          std::move(failures),
          metrics::FamilyWith(metrics::kLeasesHeld, {{{}, static_cast<double>(leases)}}),
          metrics::FamilyWith(metrics::kLeasesTaken, {{{}, Number(counters.leases_taken)}}),
          metrics::FamilyWith(metrics::kLeasesLost, {{{}, Number(counters.leases_lost)}}),
          std::move(appends),
          metrics::FamilyWith(metrics::kAppendFailures, {{{}, Number(counters.append_failures)}})};
}

}  // namespace galen::orchestrator
