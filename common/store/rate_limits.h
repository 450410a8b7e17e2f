#ifndef COMMON_STORE_RATE_LIMITS_H_
#define COMMON_STORE_RATE_LIMITS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace galen::store {

// A token bucket: `burst` tokens at most, `per_second` of them come back.
struct RateLimit {
  double per_second = 1;
  double burst = 1;
};

struct RateGrant {
  // Zero: it was let through. Else after how long it will be, unless others are quicker.
  absl::Duration wait;
  double left = 0;  // tokens, after this
};

// How much each tenant (or whatever `key` names) may ask for, counted over all processes that use
// the store. Thread-safe. Errors: UNAVAILABLE; DATA_LOSS.
class RateLimits {
 public:
  virtual ~RateLimits() = default;

  // Takes `cost` tokens; or takes none and says how long to wait. INVALID_ARGUMENT when the limit
  // or the cost is not positive, or the cost is more than the burst, so that it would never be let
  // through.
  virtual absl::StatusOr<RateGrant> Take(absl::string_view key, const RateLimit& limit, double cost,
                                         absl::Time now) = 0;
};

// INVALID_ARGUMENT as above.
absl::Status CheckRateLimit(absl::string_view key, const RateLimit& limit, double cost);

}  // namespace galen::store

#endif  // COMMON_STORE_RATE_LIMITS_H_
