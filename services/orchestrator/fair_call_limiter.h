#ifndef SERVICES_ORCHESTRATOR_FAIR_CALL_LIMITER_H_
#define SERVICES_ORCHESTRATOR_FAIR_CALL_LIMITER_H_

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
#include "services/orchestrator/fair_share_scheduler.h"

namespace galen::orchestrator {

// Lets the calls of diagnoses through as FairShareScheduler says. Thread-safe. Permits and active
// diagnoses may outlive it.
class FairCallLimiter {
  struct State;
  enum class What { kCall, kDiagnosis };
  // Something that the scheduler counts until it goes away. Movable.
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
      if (state_ != nullptr) FairCallLimiter::End(state_, kWhat, tenant_);
    }

   private:
    std::shared_ptr<State> state_;
    std::string tenant_;
  };

 public:
  // `most`: calls under way at the same time. `timers` must outlive it, not its permits.
  FairCallLimiter(std::size_t most, Timers& timers);

  // A diagnosis that runs.
  using ActiveDiagnosis = Counted<What::kDiagnosis>;
  ActiveDiagnosis Register(const std::string& tenant);

  // A call under way; the permit is free again when this goes away, and `on_permit` of another who
  // waits is called then, on that thread: it must not block, nor take a lock under which permits go
  // away.
  using Permit = Counted<What::kCall>;
  std::optional<Permit> TryAcquire(const std::string& tenant);
  // `on_permit` gets the permit; it lets go of it when it has no use for it any more.
  void Wait(const std::string& tenant, absl::AnyInvocable<void(Permit)> on_permit);

 private:
  struct Waiting {
    std::string tenant;
    absl::AnyInvocable<void(Permit)> on_permit;
  };
  struct State {
    State(std::size_t most, std::function<absl::Time()> time)
        : now(std::move(time)), scheduler(most) {}
    const std::function<absl::Time()> now;
    Mutex mu;
    FairShareScheduler scheduler ABSL_GUARDED_BY(mu);
    bool admitting ABSL_GUARDED_BY(mu) = false;
    std::map<FairShareScheduler::Waiter, Waiting> waiters ABSL_GUARDED_BY(mu);
    FairShareScheduler::Waiter last_waiter ABSL_GUARDED_BY(mu) = 0;
  };

  static void End(const std::shared_ptr<State>& state, What what, const std::string& tenant);
  static void AdmitWaiting(const std::shared_ptr<State>& state);

  Timers& timers_;
  const std::shared_ptr<State> state_;
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_FAIR_CALL_LIMITER_H_
