#include "services/gateway/access/store_rate_limiter.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/retry_hint.h"
#include "common/observability/trace/trace.h"

namespace galen::gateway {
namespace {

constexpr absl::Duration kHold = absl::Seconds(1);
constexpr std::size_t kMostTenants = 10'000;

// The permits to take at a time: a fifth of those that the limit restores in a second, at most a
// twentieth of its burst.
double Portion(const store::RateLimit& limit) {
  return std::floor(std::clamp(std::min(limit.burst / 20, limit.per_second / 5), 1.0, 50.0));
}

}  // namespace

StoreRateLimiter::StoreRateLimiter(store::RateLimits& rates, const Clock& clock, Executor& executor,
                                   Options options,
                                   std::function<void(const absl::Status&)> on_problem)
    : rates_(rates),
      clock_(clock),
      executor_(executor),
      options_(options),
      on_problem_(std::move(on_problem)) {}

void StoreRateLimiter::Take(const std::string& tenant, bool starts,
                            absl::AnyInvocable<void(absl::StatusOr<Allowance>) &&> done) {
  if (!starts) {
    if (const std::optional<Allowance> allowance = FromHand(tenant)) {
      return std::move(done)(*allowance);
    }
  }
  // The queue may refuse the task, so both paths share `done`.
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

absl::StatusOr<Allowance> StoreRateLimiter::Count(const std::string& tenant, bool starts) {
  if (!starts) {
    // Requests that arrived together all found no permits in hand; the first has since taken
    // permits for the others too.
    if (const std::optional<Allowance> allowance = FromHand(tenant)) return *allowance;
  }
  const store::RateLimit& limit = starts ? options_.diagnoses : options_.requests;
  const std::string key = absl::StrCat("http/", starts ? "diagnoses/" : "requests/", tenant);
  const absl::Time now = clock_.Now();
  const double portion = starts ? 1 : Portion(limit);
  absl::StatusOr<store::RateGrant> grant = rates_.Take(key, limit, portion, now);
  const bool whole = grant.ok() && grant->wait == absl::ZeroDuration();
  if (grant.ok() && !whole && portion > 1) {
    // Another thread may have taken the last permits meanwhile, and have some in hand.
    if (const std::optional<Allowance> allowance = FromHand(tenant)) return *allowance;
    grant = rates_.Take(key, limit, 1, now);
  } else if (whole && portion > 1) {
    KeepInHand(tenant, portion - 1, grant->left);
    grant->left += portion - 1;
  }
  if (!grant.ok()) {
    on_problem_(grant.status());
    return AllowanceOf(limit, limit.burst);
  }
  Allowance allowance = AllowanceOf(limit, grant->left);
  allowance.wait = grant->wait;
  return starts && whole && options_.diagnoses_a_day > 0 ? CountOfDay(tenant, allowance)
                                                         : allowance;
}

// Returns the scarcer of the two allowances.
Allowance StoreRateLimiter::CountOfDay(const std::string& tenant, const Allowance& of_second) {
  const double quota = options_.diagnoses_a_day;
  const store::RateLimit limit = {.per_second = quota / absl::ToDoubleSeconds(absl::Hours(24)),
                                  .burst = quota};
  const absl::StatusOr<store::RateGrant> grant =
      rates_.Take(absl::StrCat("http/day/", tenant), limit, 1, clock_.Now());
  if (!grant.ok()) {
    on_problem_(grant.status());
    return of_second;
  }
  Allowance of_day = AllowanceOf(limit, grant->left);
  of_day.wait = grant->wait;
  of_day.is_quota = true;
  return of_day.wait > absl::ZeroDuration() || of_day.left < of_second.left ? of_day : of_second;
}

std::optional<Allowance> StoreRateLimiter::FromHand(const std::string& tenant) {
  const MutexLock lock(mu_);
  const auto it = in_hand_.find(tenant);
  if (it == in_hand_.end()) return std::nullopt;
  InHand& hand = it->second;
  if (hand.count < 1 || clock_.Now() >= hand.until) {
    in_hand_.erase(it);
    return std::nullopt;
  }
  hand.count -= 1;
  return AllowanceOf(options_.requests, hand.left + hand.count);
}

void StoreRateLimiter::KeepInHand(const std::string& tenant, double count, double left) {
  const MutexLock lock(mu_);
  if (in_hand_.size() >= kMostTenants) in_hand_.clear();
  InHand& hand = in_hand_[tenant];
  hand.count += count;  // two may have asked at once
  hand.left = left;
  hand.until = clock_.Now() + kHold;
}

Allowance StoreRateLimiter::AllowanceOf(const store::RateLimit& limit, double left) {
  Allowance allowance;
  allowance.limit = static_cast<std::int64_t>(limit.burst);
  allowance.left = static_cast<std::int64_t>(std::floor(left));
  allowance.full_in = absl::Seconds(std::max(0.0, limit.burst - left) / limit.per_second);
  return allowance;
}

}  // namespace galen::gateway
