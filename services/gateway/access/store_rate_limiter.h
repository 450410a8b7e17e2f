#ifndef SERVICES_GATEWAY_ACCESS_STORE_RATE_LIMITER_H_
#define SERVICES_GATEWAY_ACCESS_STORE_RATE_LIMITER_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/executor.h"
#include "common/base/mutex.h"
#include "common/store/rate_limits.h"
#include "services/gateway/api/access.h"

namespace galen::gateway {

// Counts the requests of tenants in the store, so that several gateways share one count. If the
// limit is high, a gateway takes several permits at a time and hands them out for a second without
// asking the store. Permits that it has not used by then are lost, at most a fifth of those that
// the limit restores in that time. While the store is unreachable, requests are let through: the
// orchestrator has limits of its own, and a rate limiter must not make the gateway unavailable.
class StoreRateLimiter final : public RateLimiter {
 public:
  struct Options {
    store::RateLimit requests = {.per_second = 50, .burst = 200};
    store::RateLimit diagnoses = {.per_second = 2, .burst = 50};  // started
    // Diagnoses that a tenant may start a day, 0 for no quota: this many at once at most, restored
    // evenly over a day.
    double diagnoses_a_day = 0;
  };
  // All must outlive it. `executor` waits for the store.
  StoreRateLimiter(store::RateLimits& rates, const Clock& clock, Executor& executor,
                   Options options, std::function<void(const absl::Status&)> on_problem);

  void Take(const std::string& tenant, bool starts,
            absl::AnyInvocable<void(absl::StatusOr<Allowance>) &&> done) override;

 private:
  // Permits of a tenant that are already counted in the store.
  struct InHand {
    double count = 0;
    double left = 0;  // in the store
    absl::Time until;
  };
  absl::StatusOr<Allowance> Count(const std::string& tenant, bool starts);
  Allowance CountOfDay(const std::string& tenant, const Allowance& of_second);
  std::optional<Allowance> FromHand(const std::string& tenant);
  void KeepInHand(const std::string& tenant, double count, double left);
  static Allowance AllowanceOf(const store::RateLimit& limit, double left);

  store::RateLimits& rates_;
  const Clock& clock_;
  Executor& executor_;
  const Options options_;
  const std::function<void(const absl::Status&)> on_problem_;
  Mutex mu_;
  absl::flat_hash_map<std::string, InHand> in_hand_ ABSL_GUARDED_BY(mu_);  // by tenant
};

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_ACCESS_STORE_RATE_LIMITER_H_
