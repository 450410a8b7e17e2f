#include "bench/load/drive.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"

namespace galen::load {
namespace {

absl::Status One(cli::DiagnosisApi& mesh, const v1::CreateDiagnosisRequest& request,
                 Driven& driven) {
  const absl::Time start = absl::Now();
  GALEN_ASSIGN_OR_RETURN(const v1::Diagnosis created, mesh.Create(request));
  bool found = false;
  GALEN_RETURN_IF_ERROR(mesh.Watch(created.name(), 0, [&](const v1::DiagnosisEvent& event) {
    ++driven.events;
    if (event.has_concluded()) found = event.concluded().report().has_primary_cause();
  }));
  driven.latencies.push_back(absl::Now() - start);
  if (found) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(created.name(), " ended without a cause"));
}

}  // namespace

absl::Duration Driven::Percentile(double share) const {
  if (latencies.empty()) return absl::ZeroDuration();
  const auto last = latencies.size() - 1;
  return latencies[std::min(last, static_cast<std::size_t>(share * static_cast<double>(last)))];
}

absl::StatusOr<Driven> Drive(cli::DiagnosisApi& mesh, const galen::v1::Incident& incident,
                             const std::string& tenant, int count, int at_once) {
  v1::CreateDiagnosisRequest request;
  request.set_parent(absl::StrCat("tenants/", tenant));
  *request.mutable_diagnosis()->mutable_incident() = incident;
  std::atomic<int> left = count;
  std::vector<Driven> parts(static_cast<std::size_t>(at_once));
  std::vector<absl::Status> ends(parts.size());
  const absl::Time start = absl::Now();
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      threads.emplace_back([&, i] {
        v1::CreateDiagnosisRequest mine = request;
        // No two incidents use the same words.
        for (int n = 0; ends[i].ok() && left-- > 0; ++n) {
          mine.mutable_diagnosis()->mutable_incident()->set_description(
              absl::StrCat(incident.description(), "\njob ", i, ".", n));
          ends[i] = One(mesh, mine, parts[i]);
        }
      });
    }
  }
  Driven driven;
  driven.wall = absl::Now() - start;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    GALEN_RETURN_IF_ERROR(ends[i]);
    driven.events += parts[i].events;
    std::copy(parts[i].latencies.begin(), parts[i].latencies.end(),
              std::back_inserter(driven.latencies));
  }
  std::sort(driven.latencies.begin(), driven.latencies.end());
  return driven;
}

}  // namespace galen::load
