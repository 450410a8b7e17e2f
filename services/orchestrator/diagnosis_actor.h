#ifndef SERVICES_ORCHESTRATOR_DIAGNOSIS_ACTOR_H_
#define SERVICES_ORCHESTRATOR_DIAGNOSIS_ACTOR_H_

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/clients/call.h"
#include "common/observability/trace/trace.h"
#include "common/store/event_log.h"
#include "services/orchestrator/calls.h"
#include "services/orchestrator/core.h"
#include "services/orchestrator/diagnosis_state.h"
#include "services/orchestrator/fair_call_limiter.h"

namespace galen::orchestrator {

// One diagnosis that this process runs: holds its lease, makes the calls it wants, and appends
// their outcomes. Outcomes go through an inbox that is emptied on the executor, so calls never wait
// for each other and no thread waits for a diagnosis.
//
// An event is in the store before anything is done about it, or anybody sees it; messages that
// arrive during an append wait. When the store refuses an event, the actor stops and is created
// again from the store, as after a crash. Thread-safe.
class DiagnosisActor : public std::enable_shared_from_this<DiagnosisActor> {
 public:
  DiagnosisActor(std::shared_ptr<Core> core, store::Lease lease, State state);

  // Goes on from where the log ends.
  void Start();

  // Appends the event that `command` makes of the state, if any, continues, and returns the
  // diagnosis. ABORTED when the actor had stopped before: open it again. UNAVAILABLE the store.
  using Command =
      absl::FunctionRef<absl::StatusOr<std::optional<v1::DiagnosisEvent>>(const State&)>;
  absl::StatusOr<v1::Diagnosis> Do(Command command);

  absl::StatusOr<v1::Diagnosis> View(bool listed);

  // Stops and gives the lease back, so that another orchestrator may go on at once.
  void HandOver();

 private:
  struct InboxMessage {
    std::string effect_id;
    std::int64_t call = 0;
    Outcome outcome;
    bool ends_call = false;
  };
  struct InFlight {
    std::int64_t call = 0;  // tells late answers of an earlier call from those of this one
    Effect effect;
    absl::Time deadline;     // by what waits are measured by, as all times below
    clients::Cancel cancel;  // set once the call is made
    FairCallLimiter::Permit permit;
  };

  // An append under way, and its effects afterwards.
  struct Storing {
    std::vector<v1::DiagnosisEvent> events;
    std::vector<Effect> effects;
    absl::Time begun;
  };

  void Receive(InboxMessage message);
  void ReceivePermit(FairCallLimiter::Permit permit);
  void ProcessInbox();
  void ApplyMessages(std::vector<InboxMessage> messages, std::vector<v1::DiagnosisEvent>& events)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void GiveUpOverdueCalls(std::vector<v1::DiagnosisEvent>& events)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AppendEvent(v1::DiagnosisEvent event, std::vector<v1::DiagnosisEvent>& events)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Advance(std::vector<v1::DiagnosisEvent> events) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Stored(absl::Status status);
  std::optional<absl::Status> WaitForStore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status FinishStoring(const absl::Status& stored) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FinishPendingStore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ExecuteEffects(const std::vector<Effect>& effects)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status FailDiagnosis(const absl::Status& refused) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status RenewLease() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StartCalls(const std::vector<Effect>& wanted) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::optional<FairCallLimiter::Permit> PermitForCall() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WaitForPermits(std::size_t count) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ReleasePermits() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ReadTenantSpending(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The work that calls of the diagnosis, and its lines in the log, belong to.
  trace::Work Work() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CountInactive() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void MarkInactive() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StopOn(const absl::Status& problem) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Time DueTime(const Effect& effect) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WakeAt(absl::Time when) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::shared_ptr<Core> core_;
  const std::string name_;
  const std::string tenant_;  // "tenants/t"

  Mutex inbox_mu_;
  std::vector<InboxMessage> inbox_ ABSL_GUARDED_BY(inbox_mu_);
  bool processing_ ABSL_GUARDED_BY(inbox_mu_) = false;  // a task for it is under way
  std::vector<FairCallLimiter::Permit> granted_ ABSL_GUARDED_BY(inbox_mu_);
  std::optional<absl::Status> stored_ ABSL_GUARDED_BY(inbox_mu_);  // what became of storing_
  std::condition_variable stored_changed_;

  Mutex mu_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  store::Lease lease_ ABSL_GUARDED_BY(mu_);
  absl::Time renew_at_ ABSL_GUARDED_BY(mu_);
  State state_ ABSL_GUARDED_BY(mu_);  // with the events of storing_
  std::optional<Storing> storing_ ABSL_GUARDED_BY(mu_);
  struct Due {
    absl::Time not_before;  // by the time of day, as the log says it
    absl::Time due;
  };
  std::map<std::string, Due> due_ ABSL_GUARDED_BY(mu_);             // by effect id, of retries
  std::map<std::string, InFlight> in_flight_ ABSL_GUARDED_BY(mu_);  // by effect id
  std::int64_t last_call_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Time wake_at_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  // Counts it among the diagnoses of its tenant until it stops.
  std::optional<FairCallLimiter::ActiveDiagnosis> active_ ABSL_GUARDED_BY(mu_);
  std::vector<FairCallLimiter::Permit> permits_ ABSL_GUARDED_BY(mu_);  // for calls to be made now
  std::size_t waits_ ABSL_GUARDED_BY(mu_) = 0;                         // permits that are asked for
  bool became_inactive_ ABSL_GUARDED_BY(mu_) = false;  // by events that are not counted yet
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_DIAGNOSIS_ACTOR_H_
