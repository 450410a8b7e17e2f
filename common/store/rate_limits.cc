#include "common/store/rate_limits.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace galen::store {

absl::Status CheckRateLimit(absl::string_view key, const RateLimit& limit, double cost) {
  for (const double number : {limit.per_second, limit.burst, cost}) {
    if (std::isfinite(number) && number > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(key, ": rate, burst and cost of a rate limit are numbers above 0"));
  }
  if (cost <= limit.burst) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(key, ": costs ", cost, ", more than the burst of ",
                                                 limit.burst, ": would never be let through"));
}

}  // namespace galen::store
