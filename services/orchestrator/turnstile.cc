#include "services/orchestrator/turnstile.h"

namespace galen::orchestrator {

Turnstile::Turnstile(std::size_t most, Timers& timers)
    : timers_(timers), state_(std::make_shared<State>(most, timers.scale())) {}

Turnstile::Presence Turnstile::Arrive(const std::string& tenant) {
  absl::Duration held;
  {
    MutexLock lock(state_->mu);
    held = state_->shares.Arrive(tenant, state_->now());
  }
  if (held > absl::ZeroDuration()) {
    timers_.After(held, [weak = std::weak_ptr<State>(state_)] {
      if (const std::shared_ptr<State> state = weak.lock()) LetIn(state);
    });
  }
  return Presence(state_, tenant);
}

std::optional<Turnstile::Place> Turnstile::TryBegin(const std::string& tenant) {
  MutexLock lock(state_->mu);
  if (!state_->shares.TryBegin(tenant, state_->now())) return std::nullopt;
  return Place(state_, tenant);
}

void Turnstile::Wait(const std::string& tenant, absl::AnyInvocable<void(Place)> on_turn) {
  {
    MutexLock lock(state_->mu);
    const CallShares::Waiter waiter = ++state_->last_waiter;
    state_->waiters.emplace(waiter, Waiting{tenant, std::move(on_turn)});
    state_->shares.Wait(tenant, waiter);
  }
  LetIn(state_);  // a place may have become free since the caller had none
}

void Turnstile::End(const std::shared_ptr<State>& state, What what, const std::string& tenant) {
  {
    MutexLock lock(state->mu);
    if (what == What::kCall) {
      state->shares.Ended(tenant);
    } else {
      state->shares.Leave(tenant, state->now());
    }
  }
  LetIn(state);
}

void Turnstile::LetIn(const std::shared_ptr<State>& state) {
  {
    // One at a time: whose place comes back at once must not lead here again and again, ever
    // deeper.
    MutexLock lock(state->mu);
    if (std::exchange(state->letting_in, true)) return;
  }
  for (;;) {
    std::optional<Waiting> next;
    {
      MutexLock lock(state->mu);
      const std::optional<CallShares::Waiter> waiter = state->shares.Next(state->now());
      if (!waiter.has_value()) {
        state->letting_in = false;
        return;
      }
      const auto it = state->waiters.find(*waiter);
      next = std::move(it->second);
      state->waiters.erase(it);
    }
    // One that has gone meanwhile lets go of its place, which comes back here.
    next->on_turn(Place(state, next->tenant));
  }
}

}  // namespace galen::orchestrator
