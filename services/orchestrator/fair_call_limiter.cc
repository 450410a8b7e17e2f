#include "services/orchestrator/fair_call_limiter.h"

namespace galen::orchestrator {

FairCallLimiter::FairCallLimiter(std::size_t most, Timers& timers)
    : timers_(timers), state_(std::make_shared<State>(most, timers.scale())) {}

FairCallLimiter::ActiveDiagnosis FairCallLimiter::Register(const std::string& tenant) {
  absl::Duration held;
  {
    MutexLock lock(state_->mu);
    held = state_->scheduler.Register(tenant, state_->now());
  }
  if (held > absl::ZeroDuration()) {
    timers_.After(held, [weak = std::weak_ptr<State>(state_)] {
      if (const std::shared_ptr<State> state = weak.lock()) AdmitWaiting(state);
    });
  }
  return ActiveDiagnosis(state_, tenant);
}

std::optional<FairCallLimiter::Permit> FairCallLimiter::TryAcquire(const std::string& tenant) {
  MutexLock lock(state_->mu);
  if (!state_->scheduler.TryAcquire(tenant, state_->now())) return std::nullopt;
  return Permit(state_, tenant);
}

void FairCallLimiter::Wait(const std::string& tenant, absl::AnyInvocable<void(Permit)> on_permit) {
  {
    MutexLock lock(state_->mu);
    const FairShareScheduler::Waiter waiter = ++state_->last_waiter;
    state_->waiters.emplace(waiter, Waiting{tenant, std::move(on_permit)});
    state_->scheduler.Wait(tenant, waiter);
  }
  AdmitWaiting(state_);  // a permit may have become free since the caller had none
}

void FairCallLimiter::End(const std::shared_ptr<State>& state, What what,
                          const std::string& tenant) {
  {
    MutexLock lock(state->mu);
    if (what == What::kCall) {
      state->scheduler.Release(tenant);
    } else {
      state->scheduler.Unregister(tenant, state->now());
    }
  }
  AdmitWaiting(state);
}

void FairCallLimiter::AdmitWaiting(const std::shared_ptr<State>& state) {
  {
    // One at a time: whose permit comes back at once must not lead here again and again, ever
    // deeper.
    MutexLock lock(state->mu);
    if (std::exchange(state->admitting, true)) return;
  }
  for (;;) {
    std::optional<Waiting> next;
    {
      MutexLock lock(state->mu);
      const std::optional<FairShareScheduler::Waiter> waiter = state->scheduler.Next(state->now());
      if (!waiter.has_value()) {
        state->admitting = false;
        return;
      }
      const auto it = state->waiters.find(*waiter);
      next = std::move(it->second);
      state->waiters.erase(it);
    }
    // One that has gone meanwhile lets go of its permit, which comes back here.
    next->on_permit(Permit(state, next->tenant));
  }
}

}  // namespace galen::orchestrator
