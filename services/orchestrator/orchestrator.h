#ifndef SERVICES_ORCHESTRATOR_ORCHESTRATOR_H_
#define SERVICES_ORCHESTRATOR_ORCHESTRATOR_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/base/executor.h"
#include "common/observability/metrics/registry.h"
#include "common/store/event_log.h"
#include "galen/v1/diagnosis_service.pb.h"
#include "services/orchestrator/agents.h"
#include "services/orchestrator/options.h"
#include "services/orchestrator/retention.h"
#include "services/orchestrator/watchers.h"

namespace galen::orchestrator {

class Core;

// Runs diagnoses: DiagnosisService without the transport. Every method has the semantics and the
// errors that proto/galen/v1/diagnosis_service.proto states, and UNAVAILABLE when the store cannot
// be reached or another orchestrator runs the diagnosis. Methods touch the store, so they may
// block for some milliseconds, but none waits for a diagnosis, except Watch(). Thread-safe.
class Orchestrator {
 public:
  // All must outlive the orchestrator. `executor` runs what comes back from the agents; tasks that
  // it still holds afterwards do nothing.
  Orchestrator(store::EventLog& log, Agents agents, const Clock& clock, Executor& executor,
               Options options);
  // Stops where it stands and gives its leases back: the store holds all there is to go on from.
  // Not to be called from one of its own callbacks.
  ~Orchestrator();
  Orchestrator(const Orchestrator&) = delete;
  Orchestrator& operator=(const Orchestrator&) = delete;

  // Resumes every unfinished diagnosis that nobody else runs, those of this owner's former self at
  // once, and goes on looking for such ones. Once, before the first request. The error is the
  // store's.
  absl::Status Start();
  // Does what is due at this time; only with Options::own_timer off.
  void Tick();

  absl::StatusOr<v1::Diagnosis> Create(const v1::CreateDiagnosisRequest& request);
  absl::StatusOr<v1::Diagnosis> Get(const v1::GetDiagnosisRequest& request);
  absl::StatusOr<v1::ListDiagnosesResponse> List(const v1::ListDiagnosesRequest& request);
  absl::StatusOr<v1::Diagnosis> Cancel(const v1::CancelDiagnosisRequest& request);
  absl::StatusOr<v1::Diagnosis> SubmitFeedback(const v1::SubmitFeedbackRequest& request);
  absl::StatusOr<v1::Diagnosis> Escalate(const v1::EscalateDiagnosisRequest& request);
  absl::StatusOr<v1::DeleteDiagnosisResponse> Delete(const v1::DeleteDiagnosisRequest& request);
  // For Retention: deletes one that does not run, if `may` permits it.
  absl::Status DeleteByRetention(const std::string& name, MayDelete may);

  // The next events of a diagnosis, at most kWatchBatch, as soon as there is one: `on_events` is
  // called exactly once, on the executor, with events, the end, or an error. To follow a
  // diagnosis, ask again with the last sequence number that came, until `ended`. The number that
  // is returned lets StopWatching() drop a call that still waits.
  std::int64_t WatchNext(const v1::WatchDiagnosisRequest& request, OnEvents on_events);
  // After this `on_events` may still be called, if it was about to be.
  void StopWatching(std::int64_t ticket);
  // Ends all watching with UNAVAILABLE: before a server drains.
  void EndWatches();
  // Follows a diagnosis on the caller's own thread, which must not be one of the executor's. OK
  // when it ended, CANCELLED when `on_event` returned false.
  absl::Status Watch(const v1::WatchDiagnosisRequest& request,
                     const std::function<bool(const v1::DiagnosisEvent&)>& on_event);

  // In counters; says nothing more once the orchestrator is gone.
  std::shared_ptr<const prometheus::Collectable> metrics() const;

 private:
  // Feedback that says which cause a person established.
  absl::StatusOr<v1::Diagnosis> Confirm(const v1::SubmitFeedbackRequest& request);

  const std::shared_ptr<Core> core_;
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_ORCHESTRATOR_H_
