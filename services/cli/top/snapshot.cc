#include "services/cli/top/snapshot.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/proto_time.h"
#include "common/base/text.h"

namespace galen::cli::top {
namespace {

constexpr std::size_t kMostText = 200;

// Whether the fault is the service's: the codes of k8s/observability/alerts.yaml.
bool IsFault(const std::string& code) {
  static const auto& kFaults = *new std::set<std::string>{
      "UNKNOWN",  "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "UNIMPLEMENTED",
      "INTERNAL", "UNAVAILABLE",       "DATA_LOSS"};
  return kFaults.count(code) > 0;
}

std::string Label(const Series& series, const std::string& name) {
  const auto found = series.labels.find(name);
  return found == series.labels.end() ? "" : CleanText(found->second, kMostText);
}

using Key = std::pair<std::string, std::map<std::string, std::string>>;
using Values = std::map<Key, double>;

Values ValuesOf(const std::vector<Series>& all) {
  Values values;
  for (const Series& series : all) values[{series.name, series.labels}] = series.value;
  return values;
}

// By how much a counter rose. One that is new, or lower than before, began at 0.
double Rise(const Series& now, const Values& before) {
  const auto found = before.find({now.name, now.labels});
  const double rise =
      found == before.end() || found->second > now.value ? now.value : now.value - found->second;
  return std::isfinite(rise) ? rise : 0;
}

// The value below which `share` of the buckets' counts lie, as in histogram_quantile(): evenly
// spread within a bucket, and the last bound for values beyond it.
std::optional<double> Quantile(const std::map<double, double>& buckets, double share) {
  if (buckets.empty() || buckets.rbegin()->second <= 0) return std::nullopt;
  const double rank = share * buckets.rbegin()->second;
  double low = 0;
  double below = 0;
  for (const auto& [bound, count] : buckets) {
    if (count >= rank) {
      if (std::isinf(bound)) return low;
      const double in_bucket = count - below;
      return in_bucket <= 0 ? bound : low + (bound - low) * (rank - below) / in_bucket;
    }
    low = bound;
    below = count;
  }
  return low;
}

// "galen.planning.v1.PlanningService": "planning".
std::string ShortName(const std::string& service) {
  if (service == "galen.v1.DiagnosisService") return "orchestrator";
  absl::string_view name = service;
  if (!absl::ConsumePrefix(&name, "galen.")) return service;
  return std::string(name.substr(0, name.find('.')));
}

struct Sums {
  ServiceRow row;
  std::map<double, double> buckets;
};

void AddCalls(const Series& series, double rise, double seconds,
              std::map<std::string, Sums>& services) {
  const std::string service = Label(series, "rpc_service");
  if (!absl::StartsWith(service, "galen.")) return;  // health, reflection
  Sums& sums = services[ShortName(service)];
  if (series.name == "galen_rpc_server_in_flight") {
    sums.row.in_flight += series.value;
  } else if (series.name == "galen_rpc_server_calls_total" && seconds > 0) {
    sums.row.calls += rise / seconds;
    if (IsFault(Label(series, "code"))) sums.row.errors += rise / seconds;
  } else if (series.name == "galen_rpc_server_seconds_bucket") {
    double bound = 0;
    // A watch lasts for as long as somebody watches.
    if (absl::StartsWith(Label(series, "rpc_method"), "Watch") ||
        !absl::SimpleAtod(Label(series, "le"), &bound)) {
      return;
    }
    sums.buckets[bound] += rise;
  }
}

DiagnosisRow RowOf(const v1::Diagnosis& diagnosis, absl::Time now) {
  DiagnosisRow row;
  const std::string name = CleanText(diagnosis.name(), kMostText);
  const std::size_t cut = name.rfind("/diagnoses/");
  row.tenant = std::string(absl::StripPrefix(name.substr(0, cut), "tenants/"));
  row.name = cut == std::string::npos ? name : name.substr(cut + 11);
  row.state = v1::Diagnosis::State_Name(diagnosis.state());
  row.at_rest =
      diagnosis.state() != v1::Diagnosis::PENDING && diagnosis.state() != v1::Diagnosis::RUNNING;
  const absl::Time end = row.at_rest ? ToTime(diagnosis.update_time()) : now;
  row.age = std::max(end - ToTime(diagnosis.create_time()), absl::ZeroDuration());
  row.step = CleanText(absl::StrJoin(diagnosis.steps(), ", "), kMostText);
  row.pending_checks = diagnosis.pending_checks();
  row.cause = CleanText(diagnosis.report().primary_cause().label(), kMostText);
  row.trace_id = CleanText(diagnosis.trace_id(), kMostText);
  return row;
}

}  // namespace

Snapshot Compare(const Reading& before, const Reading& now) {
  Snapshot snapshot;
  snapshot.time = now.time;
  std::map<std::string, Sums> services;
  for (const auto& [address, told] : now.programs) {
    ProgramRow program;
    program.address = address;
    if (!told.ok()) {
      program.trouble = CleanText(told.status().message(), kMostText);
      snapshot.programs.push_back(std::move(program));
      continue;
    }
    const auto earlier = before.programs.find(address);
    const bool compared = earlier != before.programs.end() && earlier->second.ok();
    const Values values = compared ? ValuesOf(*earlier->second) : Values();
    const double seconds = compared ? absl::ToDoubleSeconds(now.time - before.time) : 0;
    for (const Series& series : *told) {
      const double rise = compared ? Rise(series, values) : 0;
      if (absl::StartsWith(series.name, "galen_rpc_server_")) {
        AddCalls(series, rise, seconds, services);
      } else if (series.name == "galen_diagnoses") {
        (Label(series, "state") == "running" ? snapshot.running : snapshot.waiting) += series.value;
      } else if (series.name == "galen_diagnoses_shed_total" && seconds > 0) {
        snapshot.shed += rise / seconds;
      } else if (series.name == "galen_queue_depth") {
        program.queued += series.value;
      } else if (series.name == "process_resident_memory_bytes") {
        program.memory = series.value;
      } else if (series.name == "process_cpu_seconds_total" && seconds > 0) {
        program.processors = rise / seconds;
      }
    }
    snapshot.programs.push_back(std::move(program));
  }
  for (auto& [service, sums] : services) {
    sums.row.service = service;
    sums.row.p50 = Quantile(sums.buckets, 0.5);
    sums.row.p99 = Quantile(sums.buckets, 0.99);
    snapshot.services.push_back(std::move(sums.row));
  }
  if (!now.diagnoses.ok()) {
    snapshot.diagnoses_trouble = CleanText(now.diagnoses.status().message(), kMostText);
    return snapshot;
  }
  for (const v1::Diagnosis& diagnosis : *now.diagnoses) {
    snapshot.diagnoses.push_back(RowOf(diagnosis, now.time));
  }
  std::stable_partition(snapshot.diagnoses.begin(), snapshot.diagnoses.end(),
                        [](const DiagnosisRow& row) { return !row.at_rest; });
  return snapshot;
}

std::vector<std::string> TenantsIn(const Reading& reading) {
  std::set<std::string> tenants;
  for (const auto& [address, told] : reading.programs) {
    if (!told.ok()) continue;
    for (const Series& series : *told) {
      const std::string tenant = Label(series, "tenant");
      if (series.name == "galen_diagnoses" && !tenant.empty() && tenant.front() != '(') {
        tenants.insert(tenant);
      }
    }
  }
  return {tenants.begin(), tenants.end()};
}

}  // namespace galen::cli::top
