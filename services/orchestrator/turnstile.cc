#include "services/orchestrator/turnstile.h"

namespace galen::orchestrator {

Turnstile::Turnstile(std::size_t most) : state_(std::make_shared<State>(most)) {}

Turnstile::Presence Turnstile::Arrive(const std::string& tenant) {
  MutexLock lock(state_->mu);
  state_->shares.Arrive(tenant);
  return Presence(state_, tenant);
}

std::optional<Turnstile::Place> Turnstile::TryBegin(const std::string& tenant) {
  MutexLock lock(state_->mu);
  if (!state_->shares.TryBegin(tenant)) return std::nullopt;
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
      state->shares.Leave(tenant);
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
      const std::optional<CallShares::Waiter> waiter = state->shares.Next();
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
