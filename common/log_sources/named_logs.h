#ifndef COMMON_LOG_SOURCES_NAMED_LOGS_H_
#define COMMON_LOG_SOURCES_NAMED_LOGS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/log_sources/labels.h"
#include "common/log_sources/site.h"
#include "galen/v1/incident.pb.h"

namespace galen::log_sources {

// Logs for incidents that name a source of the site: a log with the path "from:NAME" and without
// content stands for all that the source has of the incident's time. Requests name neither an
// address nor a query: both are the site's, and each source is for the tenants that its entry
// lists. "<job>" in its query stands for the name of the incident's workload. Immutable;
// thread-safe.
class NamedLogs {
 public:
  NamedLogs(std::vector<SiteSource> sources, LabelNames names)
      : sources_(std::move(sources)), names_(std::move(names)) {}

  // With the site's file, and knowledge/telemetry/logs.yaml of these directories.
  static absl::StatusOr<NamedLogs> Load(const std::string& file,
                                        const std::vector<std::string>& directories);

  // The incident with lines in place of such logs: at most 16 MiB, of 24 hours. A log of which
  // something is left out has "incomplete" in its name. Blocks for 20 s at most.
  //
  // INVALID_ARGUMENT: there is no such source for the tenant `parent` ("tenants/acme"), the
  // workload has no name that a query may have, or there are also logs by their path. The errors of
  // LogStore.
  absl::StatusOr<v1::Incident> Fetch(const std::string& parent, const v1::Incident& incident,
                                     absl::Time now) const;

 private:
  absl::Status FetchOne(const std::string& tenant, const std::string& name,
                        const v1::Incident& asked, absl::Time now, std::size_t sources,
                        v1::Incident& incident) const;

  const std::vector<SiteSource> sources_;
  const LabelNames names_;
};

}  // namespace galen::log_sources

#endif  // COMMON_LOG_SOURCES_NAMED_LOGS_H_
