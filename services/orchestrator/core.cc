#include "services/orchestrator/core.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/observability/trace/trace.h"
#include "services/orchestrator/diagnosis_actor.h"
#include "services/orchestrator/load_state.h"
#include "services/orchestrator/orchestrator_metrics.h"

namespace galen::orchestrator {
namespace {

constexpr absl::Duration kFullExecutorDelay = absl::Milliseconds(10);
constexpr std::size_t kMaxProblems = 1000;
constexpr std::size_t kMaxInactive = 1000;
// A diagnosis of some forty events takes 20 to 200 KB.
constexpr std::size_t kMostRecentBytes = std::size_t{32} << 20;

// The clock for waits.
std::function<absl::Time()> TimescaleOf(const Options& options, const Clock& clock) {
  if (options.steady != nullptr) return [steady = options.steady] { return steady->Now(); };
  if (options.own_timer) return SteadyNow;
  return [&clock] { return clock.Now(); };
}

}  // namespace

Core::Core(store::EventLog& event_log, Agents agents_in, const Clock& clock_in,
           Executor& executor_in, Options options_in)
    : log(event_log),
      agents(agents_in),
      clock(clock_in),
      options(std::move(options_in)),
      timers(TimescaleOf(options, clock)),
      call_limiter(options.max_calls, timers),
      recent(kMostRecentBytes),
      executor_(executor_in),
      admission_({options.max_running, options.tenant_running, options.tenant_waiting}) {}

void Core::Close() {
  gate.Close();
  timers.Stop();
  std::map<std::string, std::shared_ptr<DiagnosisActor>, std::less<>> actors;
  {
    MutexLock lock(mu_);
    actors.swap(actors_);
  }
  for (const auto& [name, actor] : actors) actor->HandOver();
  for (Watcher& watcher : watchers.Close()) EndWatch(std::move(watcher));
}

void Core::Run(absl::AnyInvocable<void() &&> task) {
  // An executor that is full keeps nothing, so the task must outlive the attempt.
  auto shared = std::make_shared<absl::AnyInvocable<void() &&>>(std::move(task));
  const bool taken = executor_.TrySchedule([core = shared_from_this(), shared] {
    const ShutdownGate::Guard guard(core->gate);
    if (guard) std::move (*shared)();
  });
  if (taken) return;
  timers.After(kFullExecutorDelay, [weak = weak_from_this(), shared] {
    const std::shared_ptr<Core> core = weak.lock();
    if (core == nullptr) return;
    const ShutdownGate::Guard guard(core->gate);
    if (guard) core->Run(std::move(*shared));
  });
}

absl::StatusOr<State> Core::Load(absl::string_view name) { return LoadState(log, name); }

std::shared_ptr<DiagnosisActor> Core::Find(absl::string_view name) {
  MutexLock lock(mu_);
  const auto it = actors_.find(name);
  return it == actors_.end() ? nullptr : it->second;
}

absl::StatusOr<std::shared_ptr<DiagnosisActor>> Core::Open(absl::string_view name) {
  MutexLock opening(open_mu_);
  if (std::shared_ptr<DiagnosisActor> actor = Find(name)) return actor;
  GALEN_ASSIGN_OR_RETURN(store::Lease lease,
                         log.AcquireLease(name, options.owner, clock.Now(), options.lease_ttl));
  counters.leases_taken.Add();
  absl::StatusOr<State> state = Load(name);
  if (!state.ok()) {
    log.ReleaseLease(lease).IgnoreError();
    return state.status();
  }
  recent.EndsWith(name, state->last_sequence);
  auto actor =
      std::make_shared<DiagnosisActor>(shared_from_this(), std::move(lease), *std::move(state));
  MutexLock lock(mu_);
  actors_.emplace(std::string(name), actor);
  admission_.Started(std::string(name));
  return actor;
}

void Core::Resume(const std::string& name) {
  const ShutdownGate::Guard guard(gate);
  if (!guard) return;
  {
    MutexLock lock(mu_);
    admission_.Wait(name);
  }
  StartWaiting();
}

void Core::StartWaiting() {
  for (;;) {
    std::optional<std::string> name;
    {
      MutexLock lock(mu_);
      name = admission_.Next();
    }
    if (!name.has_value()) return;
    const absl::StatusOr<std::shared_ptr<DiagnosisActor>> actor = Open(*name);
    if (actor.ok()) {
      (*actor)->Start();
      continue;
    }
    {
      MutexLock lock(mu_);
      if (actors_.count(*name) == 0) admission_.Ended(*name);
    }
    if (absl::IsFailedPrecondition(actor.status())) continue;  // another orchestrator was faster
    ReportProblem(*name, actor.status());
    // The others would fail as well, each after a while; the next look into the store finds them.
    if (absl::IsUnavailable(actor.status())) return;
  }
}

void Core::ResumeAfter(absl::Duration wait, const std::string& name) {
  timers.After(wait, [weak = weak_from_this(), name] {
    if (const std::shared_ptr<Core> core = weak.lock()) core->Resume(name);
  });
}

absl::Status Core::ResumeOrphans() { return ResumeExpired(clock.Now()); }

// Asks for all that is unfinished; the store refuses the lease of what another owner holds.
absl::Status Core::ResumeOwn() { return ResumeExpired(absl::InfiniteFuture()); }

absl::Status Core::ResumeExpired(absl::Time by) {
  {
    MutexLock lock(mu_);
    admission_.BeginLook();
  }
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> names, log.ListOrphans(by));
  std::vector<std::shared_ptr<DiagnosisActor>> late;  // run here, but did not renew their lease
  {
    MutexLock lock(mu_);
    admission_.EndLook(names);
    for (const std::string& name : names) {
      if (const auto it = actors_.find(name); it != actors_.end()) late.push_back(it->second);
      admission_.Wait(name);
    }
  }
  for (const std::shared_ptr<DiagnosisActor>& actor : late) actor->Start();
  StartWaiting();
  return absl::OkStatus();
}

absl::Status Core::Delete(const std::string& name, Deleter deleter, MayDelete may) {
  const ShutdownGate::Guard guard(gate);
  if (!guard) return absl::UnavailableError("this orchestrator stops: try again");
  {
    // An actor that is made meanwhile would go on with a log that is gone.
    MutexLock opening(open_mu_);
    if (Find(name) != nullptr) {
      return absl::FailedPreconditionError(absl::StrCat(name, ": runs here"));
    }
    GALEN_RETURN_IF_ERROR(
        DeleteDiagnosis(log, name, options.owner, clock.Now(), options.lease_ttl, may));
  }
  recent.Forget(name);
  {
    MutexLock lock(mu_);
    inactive_.erase(name);
  }
  const bool by_retention = deleter == Deleter::kRetention;
  (by_retention ? counters.deleted_by_retention : counters.deleted_by_request).Add();
  if (options.on_lifecycle_event) {
    const trace::Scope scope({trace::Current().context, name});
    options.on_lifecycle_event(by_retention ? "deleted by its retention" : "deleted on request");
  }
  NotifyWatchers(name);
  return absl::OkStatus();
}

void Core::Forget(const std::string& name, const DiagnosisActor* actor) {
  std::shared_ptr<DiagnosisActor> forgotten;  // outlives the lock
  bool others_wait = false;
  {
    MutexLock lock(mu_);
    const auto it = actors_.find(name);
    if (it == actors_.end() || it->second.get() != actor) return;
    forgotten = std::move(it->second);
    actors_.erase(it);
    admission_.Ended(name);
    others_wait = admission_.HasWaiting();
  }
  if (others_wait) Run([this] { StartWaiting(); });
}

bool Core::IsFull(absl::string_view tenant) {
  MutexLock lock(mu_);
  return admission_.IsFull(tenant);
}

std::vector<prometheus::MetricFamily> Core::Metrics() {
  std::vector<Admission::Turns> turns;
  std::size_t leases = 0;
  {
    MutexLock lock(mu_);
    turns = admission_.AllTurns();
    leases = actors_.size();
  }
  // Those of before a restart too, as far as there is room.
  for (const Admission::Turns& now : turns) counters.tenants.Of(now.tenant);
  return OrchestratorFamilies(counters, turns, leases);
}

void Core::ServeWatcher(std::int64_t ticket, Watcher watcher) {
  const std::string name = watcher.name;
  const std::int64_t after = watcher.after_sequence;
  // First in the list, then the look into the store: an event that comes in between is seen by one
  // of the two.
  if (!watchers.Add(ticket, watcher)) {
    EndWatch(std::move(watcher));
    return;
  }
  absl::StatusOr<EventBatch> batch = ReadBatch(name, after);
  if (batch.ok() && batch->events.empty() && !batch->ended) return;
  if (std::optional<Watcher> waiting = watchers.Take(ticket)) {
    std::move(waiting->on_events)(std::move(batch));
  }
}

void Core::NotifyWatchers(absl::string_view name) {
  for (auto& [ticket, watcher] : watchers.TakeAll(name)) {
    Run([this, number = ticket, held = HeldWatcher(std::move(watcher))]() mutable {
      ServeWatcher(number, std::move(held).Take());
    });
  }
}

void Core::PollWatchers() {
  const ShutdownGate::Guard guard(gate);
  if (!guard) return;
  for (const std::string& name : watchers.Names()) {
    if (Find(name) == nullptr) NotifyWatchers(name);
  }
}

absl::StatusOr<EventBatch> Core::ReadBatch(const std::string& name, std::int64_t after_sequence) {
  EventBatch batch;
  // Before the read: what ends after this look wakes the watcher once more.
  const bool runs_here = Find(name) != nullptr;
  std::optional<std::vector<v1::DiagnosisEvent>> known =
      recent.After(name, after_sequence, kWatchBatch);
  // Whether more follows only the store can tell: another orchestrator may have taken the lease,
  // and this one has not noticed yet.
  const bool is_known = known.has_value() && !known->empty();
  if (is_known) {
    batch.events = *std::move(known);
    // Another orchestrator may have deleted what ran here.
    if (!runs_here) {
      GALEN_RETURN_IF_ERROR(log.Read(name, batch.events.back().sequence(), 1).status());
    }
  } else {
    GALEN_ASSIGN_OR_RETURN(batch.events, log.Read(name, after_sequence, kWatchBatch));
  }
  if (batch.events.size() == kWatchBatch) return batch;
  if (batch.events.empty() && after_sequence > 0) {
    GALEN_ASSIGN_OR_RETURN(const std::vector<v1::DiagnosisEvent> last,
                           log.Read(name, after_sequence - 1, 1));
    if (last.empty()) {
      return absl::OutOfRangeError(absl::StrCat("after_sequence: ", after_sequence,
                                                " lies beyond the last event of ", name));
    }
  }
  if (runs_here) return batch;
  const std::int64_t seen = batch.events.empty() ? after_sequence : batch.events.back().sequence();
  {
    // If the diagnosis came to rest in this process, its end is known without folding its log
    // again.
    MutexLock lock(mu_);
    const auto inactive = inactive_.find(name);
    batch.ended = inactive != inactive_.end() && inactive->second == seen;
  }
  if (batch.ended) return batch;
  GALEN_ASSIGN_OR_RETURN(const State state, Load(name));
  batch.ended = IsInactive(state) && state.last_sequence == seen;
  return batch;
}

void Core::NoteInactive(const std::string& name, std::int64_t last_sequence) {
  MutexLock lock(mu_);
  if (inactive_.size() >= kMaxInactive) inactive_.clear();
  inactive_[name] = last_sequence;
}

void Core::ReportProblem(absl::string_view name, const absl::Status& problem) {
  {
    MutexLock lock(mu_);
    if (problems_.size() >= kMaxProblems) problems_.clear();
    std::string& last = problems_[std::string(name)];
    if (last == problem.message()) return;
    last = std::string(problem.message());
  }
  if (options.on_problem) options.on_problem(name, problem);
}

}  // namespace galen::orchestrator
