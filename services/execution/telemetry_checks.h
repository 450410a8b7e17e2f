#ifndef SERVICES_EXECUTION_TELEMETRY_CHECKS_H_
#define SERVICES_EXECUTION_TELEMETRY_CHECKS_H_

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"
#include "common/base/clock.h"
#include "common/base/executor.h"
#include "common/base/mutex.h"
#include "common/clients/clients.h"
#include "common/knowledge/knowledge.h"
#include "common/log_analysis/triage/job_triage.h"
#include "common/telemetry/open_source.h"
#include "galen/execution/v1/execution.pb.h"
#include "galen/v1/evidence.pb.h"
#include "services/execution/job_logs/run_series.h"
#include "services/execution/playbook/examine.h"

namespace galen::execution {

// Checks of kind promql: the playbooks' findings about the nodes of a call, from time series of a
// Prometheus server or of the files of a bundle. No node is asked. Thread-safe.
class TelemetryChecks {
 public:
  struct Opened {
    std::shared_ptr<telemetry::Source> source;
    playbook::Times extent;  // the time range that it covers, if it reports one
    // The time range of the steps in the job's logs, if they report steps, and of the numbers that
    // its program recorded.
    std::optional<playbook::Times> logged;
  };
  struct Options {
    playbook::PlaybookCatalogue playbooks;
    telemetry::Rules rules;
    // How the logs of a job are read, whose steps complement the exporters' series; null: logs are
    // not read.
    std::shared_ptr<const triage::Catalogue> logs;
    // The server that knows the live nodes; nothing: there is none.
    std::optional<Opened> live;
    // Whether it also knows what a bundle without numbers of its own speaks of: where whoever
    // brings bundles may see all that it has.
    bool live_for_bundles = false;
    // The bundle's directory, once it is known to lie where bundles may; null: none may be read.
    std::function<absl::StatusOr<std::string>(const std::string& bundle)> bundle_root;
    int threads = 2;
    // Time limit of one call.
    absl::Duration time = absl::Minutes(1);
  };

  // With the playbooks of these directories of the knowledge. `sources`: see
  // telemetry::OpenSources(); none: there is no live server.
  static absl::StatusOr<Options> Load(const std::vector<std::string>& directories,
                                      const std::vector<telemetry::SourceAddress>& sources);

  // `clock` must outlive it.
  TelemetryChecks(Options options, const Clock& clock);
  // Waits for what runs.
  ~TelemetryChecks();

  using OnResult = std::function<void(const std::string& node, galen::v1::CheckResult result)>;

  // Gives one result for each of `checks` on each of `nodes`, then calls `done`, from another
  // thread. Without time series the results are SKIPPED; if the source cannot be read, ERROR.
  // `deadline` is on the clock's scale. `named`: see playbook::Request, for tenants that share a
  // server.
  clients::Cancel Run(const std::shared_ptr<const knowledge::Knowledge>& knowledge,
                      const v1::RunChecksRequest& request, const std::set<std::string>& checks,
                      const std::vector<std::string>& nodes, bool named, absl::Time deadline,
                      const OnResult& on_result, absl::AnyInvocable<void() &&> done);

  // Whether there is a source for a bundle, or, without one, for live nodes.
  bool Has(const std::string& bundle) const;

  // The machines that have time series at the time of an incident, sorted; empty if there is no
  // live server, or it does not answer in time. Blocks for some seconds at most.
  std::vector<std::string> LiveNodes(const playbook::Times& window);

 private:
  struct Kept {
    std::string bundle;
    absl::Time used;
    Opened opened;
  };

  // NOT_FOUND: there are no time series for this. `near`: a time that the incident is about.
  absl::StatusOr<Opened> Open(const knowledge::Knowledge& knowledge, const std::string& bundle,
                              absl::Time near, const telemetry::Call& call);
  // Opens the files of a bundle.
  absl::StatusOr<Opened> OpenFiles(const std::string& path, const telemetry::Call& call) const;
  // How the logs of a job are read; null: they cannot be.
  std::shared_ptr<const triage::CompiledCatalogue> Compiled(const knowledge::Knowledge& knowledge);
  // Adds the series from the bundle's logs, of which `runs` are those that a training program
  // recorded. `near`: see triage::TriageOptions.
  void AddLogs(const knowledge::Knowledge& knowledge, job_logs::RunFiles runs, absl::Time near,
               const telemetry::Call& call, Opened& opened);

  const Options options_;
  const Clock& clock_;
  Mutex mu_;
  // The most recently used bundles, the last one first: the calls of one diagnosis read a bundle
  // once. Changes within the minute are seen late.
  std::list<Kept> kept_ ABSL_GUARDED_BY(mu_);
  std::list<std::weak_ptr<Cancellation>> running_ ABSL_GUARDED_BY(mu_);
  // Made when the first log is read; null until then.
  std::shared_ptr<const triage::CompiledCatalogue> compiled_ ABSL_GUARDED_BY(mu_);
  Cancellation closing_;
  std::unique_ptr<ThreadPool> pool_;
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_TELEMETRY_CHECKS_H_
