#ifndef SERVICES_ORCHESTRATOR_CORE_H_
#define SERVICES_ORCHESTRATOR_CORE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/executor.h"
#include "common/base/mutex.h"
#include "common/base/timers.h"
#include "common/observability/metrics/registry.h"
#include "common/store/event_log.h"
#include "services/orchestrator/admission.h"
#include "services/orchestrator/agents.h"
#include "services/orchestrator/counters.h"
#include "services/orchestrator/diagnosis_state.h"
#include "services/orchestrator/fair_call_limiter.h"
#include "services/orchestrator/options.h"
#include "services/orchestrator/recent_events.h"
#include "services/orchestrator/retention.h"
#include "services/orchestrator/shutdown_gate.h"
#include "services/orchestrator/watchers.h"

namespace galen::orchestrator {

class DiagnosisActor;

// State shared by the diagnoses of one orchestrator: its collaborators, its timers, and which
// diagnoses run. Tasks on other threads hold it by shared_ptr and pass the gate before they touch a
// collaborator. Thread-safe. No lock of the core is held while one of an actor is taken.
class Core : public std::enable_shared_from_this<Core> {
 public:
  Core(store::EventLog& event_log, Agents agents_in, const Clock& clock_in, Executor& executor_in,
       Options options_in);

  // Lets no task in any more and waits for those inside; what they run is dropped, to be picked up
  // from the store.
  void Close();

  // Runs `task` on the executor, later when that is full, and not at all after Close().
  void Run(absl::AnyInvocable<void() &&> task);

  // The diagnosis as stored. NOT_FOUND; UNAVAILABLE; DATA_LOSS.
  absl::StatusOr<State> Load(absl::string_view name);

  // The actor of the diagnosis, when this process runs it; else null.
  std::shared_ptr<DiagnosisActor> Find(absl::string_view name);
  // The same, after taking the lease if it is free. FAILED_PRECONDITION when another orchestrator
  // holds it. A diagnosis at rest is opened as well.
  absl::StatusOr<std::shared_ptr<DiagnosisActor>> Open(absl::string_view name);
  // Continues a diagnosis when it is its turn; reports an error.
  void Resume(const std::string& name);
  void ResumeAfter(absl::Duration wait, const std::string& name);
  // Resumes every unfinished diagnosis whose lease has expired.
  absl::Status ResumeOrphans();
  // The same, and those that are still under a lease of this owner's name: of its former self.
  absl::Status ResumeOwn();
  // The diagnosis is at rest once this event is in its log, which stays true for ever.
  void NoteInactive(const std::string& name, std::int64_t last_sequence);
  // Deletes a diagnosis that does not run, as DeleteDiagnosis() does. FAILED_PRECONDITION also when
  // it runs here.
  enum class Deleter { kRetention, kRequest };
  absl::Status Delete(const std::string& name, Deleter deleter, MayDelete may);
  // The actor has stopped.
  void Forget(const std::string& name, const DiagnosisActor* actor);
  // True when the tenant ("tenants/t") has as many waiting as may.
  bool IsFull(absl::string_view tenant);

  // The counters of this orchestrator, in the form that Prometheus reads.
  std::vector<prometheus::MetricFamily> Metrics();

  // Hands `watcher` its events, now or when there are any.
  void ServeWatcher(std::int64_t ticket, Watcher watcher);
  // Something may have happened to the diagnosis.
  void NotifyWatchers(absl::string_view name);
  // Looks for events of watched diagnoses that another orchestrator runs.
  void PollWatchers();

  void ReportProblem(absl::string_view name, const absl::Status& problem);

  store::EventLog& log;
  const Agents agents;
  const Clock& clock;  // the time of day: for stamps and leases, never for waits
  const Options options;
  Timers timers;
  ShutdownGate gate;
  FairCallLimiter call_limiter;
  Watchers watchers;
  RecentEvents recent;
  OrchestratorCounters counters;

 private:
  absl::Status ResumeExpired(absl::Time by);
  void StartWaiting();
  absl::StatusOr<EventBatch> ReadBatch(const std::string& name, std::int64_t after_sequence);

  Executor& executor_;
  Mutex open_mu_;  // one Open() at a time: two of the same diagnosis would fence each other
  Mutex mu_;
  std::map<std::string, std::shared_ptr<DiagnosisActor>, std::less<>> actors_ ABSL_GUARDED_BY(mu_);
  Admission admission_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::string> problems_ ABSL_GUARDED_BY(mu_);   // last one, by name
  std::map<std::string, std::int64_t> inactive_ ABSL_GUARDED_BY(mu_);  // last one, by name
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_CORE_H_
