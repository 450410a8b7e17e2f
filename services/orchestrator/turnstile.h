#ifndef SERVICES_ORCHESTRATOR_TURNSTILE_H_
#define SERVICES_ORCHESTRATOR_TURNSTILE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "common/base/mutex.h"
#include "common/base/timers.h"
#include "services/orchestrator/call_shares.h"

namespace galen::orchestrator {

// Lets the calls of diagnoses through as CallShares says. Thread-safe. Places and presences may
// outlive it.
class Turnstile {
  struct State;
  enum class What { kCall, kDiagnosis };
  // Something that the shares count until it goes away. Movable.
  template <What kWhat>
  class Counted {
   public:
    Counted(std::shared_ptr<State> state, std::string tenant)
        : state_(std::move(state)), tenant_(std::move(tenant)) {}
    Counted(Counted&& other) noexcept = default;
    Counted& operator=(Counted&& other) noexcept {
      std::swap(state_, other.state_);
      std::swap(tenant_, other.tenant_);
      return *this;
    }
    ~Counted() {
      if (state_ != nullptr) Turnstile::End(state_, kWhat, tenant_);
    }

   private:
    std::shared_ptr<State> state_;
    std::string tenant_;
  };

 public:
  // `most`: calls under way at the same time. `timers` must outlive it, not its places.
  Turnstile(std::size_t most, Timers& timers);

  // A diagnosis that runs.
  using Presence = Counted<What::kDiagnosis>;
  Presence Arrive(const std::string& tenant);

  // A call under way; the place is free again when this goes away, and `on_turn` of another who
  // waits is called then, on that thread: it must not block, nor take a lock under which places go
  // away.
  using Place = Counted<What::kCall>;
  std::optional<Place> TryBegin(const std::string& tenant);
  // `on_turn` gets the place; it lets go of it when it has no use for it any more.
  void Wait(const std::string& tenant, absl::AnyInvocable<void(Place)> on_turn);

 private:
  struct Waiting {
    std::string tenant;
    absl::AnyInvocable<void(Place)> on_turn;
  };
  struct State {
    State(std::size_t most, std::function<absl::Time()> time)
        : now(std::move(time)), shares(most) {}
    const std::function<absl::Time()> now;
    Mutex mu;
    CallShares shares ABSL_GUARDED_BY(mu);
    bool letting_in ABSL_GUARDED_BY(mu) = false;
    std::map<CallShares::Waiter, Waiting> waiters ABSL_GUARDED_BY(mu);
    CallShares::Waiter last_waiter ABSL_GUARDED_BY(mu) = 0;
  };

  static void End(const std::shared_ptr<State>& state, What what, const std::string& tenant);
  static void LetIn(const std::shared_ptr<State>& state);

  Timers& timers_;
  const std::shared_ptr<State> state_;
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_TURNSTILE_H_
