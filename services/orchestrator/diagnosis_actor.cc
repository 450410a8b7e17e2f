#include "services/orchestrator/diagnosis_actor.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/llm/usage/usage.h"
#include "services/orchestrator/active_tests.h"
#include "services/orchestrator/decider.h"
#include "services/orchestrator/event_builders.h"
#include "services/orchestrator/projection.h"
#include "services/orchestrator/retry.h"

namespace galen::orchestrator {
namespace {

// How much later than its deadline a call may still end by itself.
constexpr absl::Duration kDeadlineGrace = absl::Seconds(5);

absl::Duration TimeFor(Effect::Kind kind, const Options& options) {
  if (kind == Effect::Kind::kSummarize) return options.summary_timeout;
  if (kind == Effect::Kind::kInvestigate || kind == Effect::Kind::kAtOnce) {
    return options.model_timeout;
  }
  if (kind == Effect::Kind::kChecks || kind == Effect::Kind::kSupplied ||
      kind == Effect::Kind::kTest) {
    return options.checks_timeout;
  }
  return options.call_timeout;
}

}  // namespace

DiagnosisActor::DiagnosisActor(std::shared_ptr<Core> core, store::Lease lease, State state)
    : core_(std::move(core)),
      name_(lease.diagnosis),
      tenant_(name_.substr(0, name_.find("/diagnoses/"))),
      lease_(std::move(lease)),
      renew_at_(core_->timers.Now() + core_->options.lease_ttl / 2),
      state_(std::move(state)) {}

void DiagnosisActor::Start() {
  {
    MutexLock lock(mu_);
    if (stopped_ || storing_.has_value()) return;
    active_.emplace(core_->call_limiter.Register(tenant_));
    const trace::Scope scope(Work());
    if (const absl::Status status = Advance({}); !status.ok()) StopOn(status);
  }
  core_->NotifyWatchers(name_);
}

absl::StatusOr<v1::Diagnosis> DiagnosisActor::Do(Command command) {
  absl::StatusOr<v1::Diagnosis> diagnosis;
  {
    MutexLock lock(mu_);
    FinishPendingStore();
    if (stopped_) return absl::AbortedError(absl::StrCat(name_, ": is being reloaded"));
    absl::StatusOr<std::optional<v1::DiagnosisEvent>> event = command(state_);
    const absl::Status refused = event.status();
    std::vector<v1::DiagnosisEvent> events;
    if (refused.ok() && event->has_value()) {
      // A person did it, in a request of its own.
      (*event)->set_trace_id(trace::TraceIdOf(trace::Current().context));
      AppendEvent(**std::move(event), events);
    }
    absl::Status status = Advance(std::move(events));
    if (status.ok() && storing_.has_value()) status = FinishStoring(*WaitForStore());
    if (!status.ok()) {
      StopOn(status);
      return absl::UnavailableError(
          absl::StrCat(status.message(), ": try again, the diagnosis is being reloaded"));
    }
    diagnosis = refused.ok() ? absl::StatusOr<v1::Diagnosis>(ToDiagnosis(state_)) : refused;
  }
  core_->NotifyWatchers(name_);
  return diagnosis;
}

absl::StatusOr<v1::Diagnosis> DiagnosisActor::View(bool listed) {
  MutexLock lock(mu_);
  FinishPendingStore();
  if (stopped_) return absl::AbortedError(absl::StrCat(name_, ": is being reloaded"));
  return listed ? ToListedDiagnosis(state_) : ToDiagnosis(state_);
}

void DiagnosisActor::HandOver() {
  MutexLock lock(mu_);
  if (stopped_) return;
  stopped_ = true;
  WaitForStore();
  for (const auto& [id, call] : in_flight_) call.cancel();
  ReleasePermits();
  core_->log.ReleaseLease(lease_).IgnoreError();
}

void DiagnosisActor::Receive(InboxMessage message) {
  const ShutdownGate::Guard guard(core_->gate);
  if (!guard) return;
  {
    MutexLock lock(inbox_mu_);
    if (!message.effect_id.empty()) inbox_.push_back(std::move(message));
    if (processing_) return;
    processing_ = true;
  }
  core_->Run([self = shared_from_this()] { self->ProcessInbox(); });
}

void DiagnosisActor::ReceivePermit(FairCallLimiter::Permit permit) {
  {
    MutexLock lock(inbox_mu_);
    granted_.push_back(std::move(permit));
  }
  Receive({});
}

void DiagnosisActor::ProcessInbox() {
  {
    MutexLock lock(mu_);
    std::vector<InboxMessage> messages;
    std::vector<FairCallLimiter::Permit> given;
    std::optional<absl::Status> stored;
    {
      // Under the lock that orders what is taken in: a later message must not overtake.
      MutexLock inbox_lock(inbox_mu_);
      processing_ = false;
      stored.swap(stored_);
      // They stay there until the store has answered, which leads here again.
      if (storing_.has_value() && !stored.has_value()) return;
      messages.swap(inbox_);
      given.swap(granted_);
    }
    if (stopped_) return;
    waits_ -= given.size();
    for (FairCallLimiter::Permit& permit : given) permits_.push_back(std::move(permit));
    const trace::Scope scope(Work());
    if (wake_at_ <= core_->timers.Now()) wake_at_ = absl::InfiniteFuture();
    absl::Status status;
    if (storing_.has_value()) status = FinishStoring(*stored);
    // The stored events may have ended the diagnosis, or its calls were answered at once.
    if (status.ok() && !stopped_ && (!stored.has_value() || !messages.empty())) {
      std::vector<v1::DiagnosisEvent> events;
      ApplyMessages(std::move(messages), events);
      GiveUpOverdueCalls(events);
      status = Advance(std::move(events));
    }
    if (!status.ok()) StopOn(status);
  }
  core_->NotifyWatchers(name_);
}

void DiagnosisActor::Stored(absl::Status status) {
  {
    MutexLock lock(inbox_mu_);
    stored_ = std::move(status);
  }
  stored_changed_.notify_all();
  Receive({});
}

// The result of the append under way; nullopt if there is none.
std::optional<absl::Status> DiagnosisActor::WaitForStore() {
  if (!storing_.has_value()) return std::nullopt;
  MutexLock lock(inbox_mu_);
  while (!stored_.has_value()) inbox_mu_.Wait(stored_changed_);
  return std::exchange(stored_, std::nullopt);
}

// For who needs the state as it is stored.
void DiagnosisActor::FinishPendingStore() {
  const std::optional<absl::Status> stored = WaitForStore();
  if (!stored.has_value() || stopped_) return;
  const trace::Scope scope(Work());
  if (const absl::Status status = FinishStoring(*stored); !status.ok()) StopOn(status);
  core_->NotifyWatchers(name_);
}

void DiagnosisActor::ApplyMessages(std::vector<InboxMessage> messages,
                                   std::vector<v1::DiagnosisEvent>& events) {
  for (InboxMessage& message : messages) {
    const auto it = in_flight_.find(message.effect_id);
    if (it == in_flight_.end() || it->second.call != message.call) continue;
    std::optional<v1::DiagnosisEvent> event = std::move(message.outcome)(state_);
    if (message.ends_call) in_flight_.erase(it);
    if (event.has_value()) AppendEvent(*std::move(event), events);
  }
}

void DiagnosisActor::GiveUpOverdueCalls(std::vector<v1::DiagnosisEvent>& events) {
  const absl::Time now = core_->timers.Now();
  for (auto it = in_flight_.begin(); it != in_flight_.end();) {
    if (now < it->second.deadline + kDeadlineGrace) {
      ++it;
      continue;
    }
    AppendEvent(CallFailedEvent(state_, it->second.effect,
                                absl::DeadlineExceededError("no answer within the time limit"),
                                core_->options.retry_limits),
                events);
    it->second.cancel();
    it = in_flight_.erase(it);
  }
}

// Takes an event into the state and puts it with those to be stored. The state runs ahead of the
// store from here to the end of Advance(), under the lock; if the store refuses, it is thrown away.
void DiagnosisActor::AppendEvent(v1::DiagnosisEvent event,
                                 std::vector<v1::DiagnosisEvent>& events) {
  event.set_sequence(state_.last_sequence + 1);
  *event.mutable_event_time() = ToTimestamp(core_->clock.Now());
  if (event.trace_id().empty()) event.set_trace_id(state_.trace_id);
  if (event.has_explored() && core_->options.tests == TestPolicy::kNever) {
    event.mutable_explored()->clear_tests();
  }
  if (event.has_call_failed()) {
    const absl::string_view call = event.call_failed().call();
    core_->counters.step_failures.Of(call.substr(0, call.find('/'))).Add();
  }
  const bool was_inactive = IsInactive(state_);
  Apply(state_, event);
  if (!was_inactive && IsInactive(state_)) became_inactive_ = true;
  events.push_back(std::move(event));
}

trace::Work DiagnosisActor::Work() const {
  return {trace::InTrace(state_.trace_id).value_or(trace::Context()), name_, state_.asker};
}

absl::Status DiagnosisActor::Advance(std::vector<v1::DiagnosisEvent> events) {
  const std::int64_t expected_last =
      state_.last_sequence - static_cast<std::int64_t>(events.size());
  Decision decision = Decide(state_);
  for (;;) {
    while (!decision.events.empty()) {
      for (v1::DiagnosisEvent& event : decision.events) AppendEvent(std::move(event), events);
      decision = Decide(state_);
    }
    // Stored with what it follows from, so that a crash finds both or none.
    std::optional<v1::DiagnosisEvent> allowed = AllowByPolicy(state_, core_->options.tests);
    if (!allowed.has_value()) break;
    AppendEvent(*std::move(allowed), events);
    decision = Decide(state_);
  }
  if (events.empty()) return ExecuteEffects(decision.effects);
  storing_ = {std::move(events), std::move(decision.effects), absl::Now()};
  // Holds this object, as the store reads the events.
  std::optional<absl::StatusOr<std::int64_t>> stored =
      core_->log.AppendLater(lease_, expected_last, storing_->events,
                             [self = shared_from_this()](const absl::StatusOr<std::int64_t>& last) {
                               self->Stored(last.status());
                             });
  return stored.has_value() ? FinishStoring(stored->status()) : absl::OkStatus();
}

// Does what was to be done once the events are stored.
absl::Status DiagnosisActor::FinishStoring(const absl::Status& stored) {
  Storing storing = *std::move(storing_);
  storing_.reset();
  if (!stored.ok()) {
    core_->counters.append_failures.Add();
    return absl::IsInvalidArgument(stored) ? FailDiagnosis(stored) : stored;
  }
  core_->counters.appends.Add(absl::Now() - storing.begun);
  if (core_->options.after_append) {
    for (const v1::DiagnosisEvent& event : storing.events) {
      core_->options.after_append(event.sequence());
    }
  }
  core_->recent.Add(name_, std::move(storing.events));
  return ExecuteEffects(storing.effects);
}

absl::Status DiagnosisActor::ExecuteEffects(const std::vector<Effect>& effects) {
  std::set<std::string> wanted;
  for (const Effect& effect : effects) wanted.insert(effect.id);
  for (auto it = in_flight_.begin(); it != in_flight_.end();) {
    if (wanted.count(it->first) > 0) {
      ++it;
      continue;
    }
    it->second.cancel();  // nobody wants its answer any more
    it = in_flight_.erase(it);
  }
  if (IsInactive(state_)) {
    if (std::exchange(became_inactive_, false)) CountInactive();
    MarkInactive();
    return absl::OkStatus();
  }
  GALEN_RETURN_IF_ERROR(RenewLease());
  StartCalls(effects);
  return absl::OkStatus();
}

// The store will never take these events, so the diagnosis ends where its log does.
absl::Status DiagnosisActor::FailDiagnosis(const absl::Status& refused) {
  GALEN_ASSIGN_OR_RETURN(state_, core_->Load(name_));
  const std::int64_t expected_last = state_.last_sequence;
  v1::DiagnosisEvent failed;
  google::rpc::Status& error = *failed.mutable_failed()->mutable_error();
  error.set_code(static_cast<int>(absl::StatusCode::kInternal));
  error.set_message(absl::StrCat("what it found cannot be stored: ", refused.message()));
  std::vector<v1::DiagnosisEvent> events;
  AppendEvent(std::move(failed), events);
  GALEN_RETURN_IF_ERROR(core_->log.Append(lease_, expected_last, events).status());
  core_->recent.Add(name_, std::move(events));
  for (const auto& [id, call] : in_flight_) call.cancel();
  if (std::exchange(became_inactive_, false)) CountInactive();
  MarkInactive();
  return absl::OkStatus();
}

absl::Status DiagnosisActor::RenewLease() {
  const absl::Time now = core_->timers.Now();
  const absl::Duration ttl = core_->options.lease_ttl;
  if (now < renew_at_) return absl::OkStatus();
  GALEN_ASSIGN_OR_RETURN(
      lease_, core_->log.AcquireLease(name_, core_->options.owner, core_->clock.Now(), ttl));
  renew_at_ = now + ttl / 2;
  return absl::OkStatus();
}

// A permit that was waited for, or one that is free.
std::optional<FairCallLimiter::Permit> DiagnosisActor::PermitForCall() {
  if (permits_.empty()) return core_->call_limiter.TryAcquire(tenant_);
  std::optional<FairCallLimiter::Permit> permit(std::move(permits_.back()));
  permits_.pop_back();
  return permit;
}

void DiagnosisActor::WaitForPermits(std::size_t count) {
  for (; waits_ < count; ++waits_) {
    core_->call_limiter.Wait(tenant_, [self = weak_from_this()](FairCallLimiter::Permit permit) {
      if (const std::shared_ptr<DiagnosisActor> actor = self.lock()) {
        actor->ReceivePermit(std::move(permit));
      }
    });
  }
}

void DiagnosisActor::StartCalls(const std::vector<Effect>& wanted) {
  const trace::Scope scope(Work());
  const absl::Time today = core_->clock.Now();
  const absl::Time now = core_->timers.Now();
  absl::Time wake = renew_at_;
  std::size_t without_permit = 0;
  for (const Effect& effect : wanted) {
    if (in_flight_.count(effect.id) > 0) continue;
    if (const absl::Time due = DueTime(effect); due > now) {
      wake = std::min(wake, due);
      continue;
    }
    std::optional<FairCallLimiter::Permit> permit = PermitForCall();
    if (!permit.has_value()) {
      ++without_permit;
      continue;
    }
    const absl::Duration limit = TimeFor(effect.kind, core_->options);
    if (effect.kind != Effect::Kind::kChecks) ReadTenantSpending(today);
    const std::int64_t call = ++last_call_;
    in_flight_.emplace(
        effect.id, InFlight{call, effect, now + limit, clients::NoCancel(), *std::move(permit)});
    // Weak: an answer that comes after the diagnosis has been dropped finds nobody.
    OutcomeSink sink = [self = weak_from_this(), id = effect.id, call](Outcome outcome,
                                                                       bool ends_call) {
      if (const std::shared_ptr<DiagnosisActor> actor = self.lock()) {
        actor->Receive({id, call, std::move(outcome), ends_call});
      }
    };
    // An answer that came meanwhile waits in the inbox, for the lock that is held here.
    in_flight_.find(effect.id)->second.cancel = StartCall(
        core_->agents, state_, effect, today + limit, core_->options.retry_limits, std::move(sink));
  }
  WaitForPermits(without_permit);
  permits_.clear();  // what is not wanted any more another one may have
  for (const auto& [id, call] : in_flight_) wake = std::min(wake, call.deadline + kDeadlineGrace);
  WakeAt(wake);
}

// The tenant's spending of the day, for the next question. If the store cannot be read, the
// diagnosis continues within its own budget: the next append will report the store's error.
void DiagnosisActor::ReadTenantSpending(absl::Time now) {
  const absl::StatusOr<v1::Spent> spent = core_->log.SpentOn(tenant_, usage::DayOf(now));
  *state_.spending.mutable_tenant_today() = spent.ok() ? *spent : state_.spending.diagnosis();
}

// When a call may be made, by what waits are measured by. The log says it by the time of day, which
// may have been set since: so it is reckoned once, and no wait is longer than any that is meant.
absl::Time DiagnosisActor::DueTime(const Effect& effect) {
  if (effect.not_before == absl::InfinitePast()) return absl::InfinitePast();
  const auto [at, fresh] = due_.try_emplace(effect.id);
  if (fresh || at->second.not_before != effect.not_before) {
    const absl::Duration wait = effect.not_before - core_->clock.Now();
    at->second = {effect.not_before, core_->timers.Now() + std::min(wait, kLongestBackoff)};
  }
  return at->second.due;
}

void DiagnosisActor::WakeAt(absl::Time when) {
  if (when >= wake_at_) return;  // woken earlier, and asked again then
  wake_at_ = when;
  core_->timers.After(when - core_->timers.Now(), [self = weak_from_this()] {
    if (const std::shared_ptr<DiagnosisActor> actor = self.lock()) actor->Receive({});
  });
}

void DiagnosisActor::CountInactive() {
  OrchestratorCounters::InactiveCounters& inactive =
      core_->counters.inactive[static_cast<std::size_t>(state_.lifecycle)];
  inactive.count.Add();
  const absl::Duration took =
      std::max(core_->clock.Now() - ToTime(state_.create_time), absl::ZeroDuration());
  inactive.times.Add(took);
  if (core_->options.on_lifecycle_event) {
    const trace::Scope scope(Work());
    core_->options.on_lifecycle_event(
        absl::StrCat(v1::Diagnosis::State_Name(state_.lifecycle), " after ",
                     absl::FormatDuration(absl::Trunc(took, absl::Milliseconds(1))), ", ",
                     state_.last_sequence, " events"));
  }
}

// Releases what others may use once this actor has stopped.
void DiagnosisActor::ReleasePermits() {
  in_flight_.clear();
  permits_.clear();
  active_.reset();
}

// Nobody needs to run this diagnosis now. If any of this is lost in a crash, the next scan for
// orphans reads the log and does it again.
void DiagnosisActor::MarkInactive() {
  stopped_ = true;
  ReleasePermits();
  absl::Status status;
  if (core_->options.on_cause && state_.report.has_primary_cause()) {
    status = core_->options.on_cause(ToListedDiagnosis(state_));
  }
  if (!absl::IsUnavailable(status)) {
    status.Update(core_->log.SetOver(name_, state_.last_sequence));
  }
  status.Update(core_->log.ReleaseLease(lease_));
  if (!status.ok()) core_->ReportProblem(name_, status);
  core_->NoteInactive(name_, state_.last_sequence);
  core_->Forget(name_, this);
}

void DiagnosisActor::StopOn(const absl::Status& problem) {
  stopped_ = true;
  for (const auto& [id, call] : in_flight_) call.cancel();
  ReleasePermits();
  core_->ReportProblem(name_, problem);
  core_->Forget(name_, this);
  // Another orchestrator has it, or will have it: leave it alone.
  if (absl::IsFailedPrecondition(problem)) {
    core_->counters.leases_lost.Add();
    return;
  }
  core_->ResumeAfter(core_->options.store_retry, name_);
}

}  // namespace galen::orchestrator
