#include "services/gateway/access/store_rate_gate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/retry_hint.h"
#include "common/trace/trace.h"

namespace galen::gateway {

StoreRateGate::StoreRateGate(store::RateLimits& rates, const Clock& clock, Executor& executor,
                             Options options, std::function<void(const absl::Status&)> on_problem)
    : rates_(rates),
      clock_(clock),
      executor_(executor),
      options_(options),
      on_problem_(std::move(on_problem)) {}

void StoreRateGate::Take(const std::string& tenant, bool starts,
                         absl::AnyInvocable<void(absl::StatusOr<Allowance>) &&> done) {
  // The queue takes the task or not, so both ends share it.
  auto shared = std::make_shared<decltype(done)>(std::move(done));
  const bool taken =
      executor_.TrySchedule([this, tenant, starts, shared, caller = trace::Current()]() mutable {
        const trace::Scope scope(std::move(caller));
        std::move (*shared)(Count(tenant, starts));
      });
  if (!taken) {
    std::move (*shared)(WithRetryAfter(
        absl::UnavailableError("too many requests at a time: try again"), absl::Seconds(1)));
  }
}

absl::StatusOr<Allowance> StoreRateGate::Count(const std::string& tenant, bool starts) {
  const store::RateLimit& limit = starts ? options_.diagnoses : options_.requests;
  const std::string key = absl::StrCat("http/", starts ? "diagnoses/" : "requests/", tenant);
  const absl::StatusOr<store::RateGrant> grant = rates_.Take(key, limit, 1, clock_.Now());
  Allowance allowance;
  allowance.limit = static_cast<std::int64_t>(limit.burst);
  allowance.left = allowance.limit;
  if (!grant.ok()) {
    on_problem_(grant.status());
    return allowance;
  }
  allowance.wait = grant->wait;
  allowance.left = static_cast<std::int64_t>(std::floor(grant->left));
  allowance.full_in = absl::Seconds(std::max(0.0, limit.burst - grant->left) / limit.per_second);
  return allowance;
}

}  // namespace galen::gateway
