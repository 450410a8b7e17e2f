#include "services/orchestrator/byte_quota.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/retry_hint.h"

namespace galen::orchestrator {

std::function<absl::Status(const std::string& parent, std::size_t bytes)> MakeByteQuota(
    store::RateLimits& rates, const Clock& clock, double bytes_a_day,
    std::function<void(const absl::Status&)> on_problem) {
  const store::RateLimit limit = {
      .per_second = bytes_a_day / absl::ToDoubleSeconds(absl::Hours(24)), .burst = bytes_a_day};
  return [&rates, &clock, limit, on_problem = std::move(on_problem)](
             const std::string& parent, std::size_t bytes) -> absl::Status {
    const double cost = std::max(1.0, static_cast<double>(bytes));
    if (cost > limit.burst) {
      return absl::InvalidArgumentError(
          absl::StrCat("diagnosis.incident: has ", bytes, " bytes, of which a tenant may have ",
                       static_cast<std::int64_t>(limit.burst), " kept in a day"));
    }
    const absl::StatusOr<store::RateGrant> grant =
        rates.Take(absl::StrCat("bytes/", parent), limit, cost, clock.Now());
    if (!grant.ok()) {
      on_problem(grant.status());
      return absl::OkStatus();
    }
    if (grant->wait <= absl::ZeroDuration()) return absl::OkStatus();
    return WithRetryAfter(
        absl::ResourceExhaustedError(absl::StrCat(
            parent, ": incidents have taken the ", static_cast<std::int64_t>(limit.burst),
            " bytes that are kept of a tenant in a day; send logs as uploads, or try "
            "again in ",
            absl::FormatDuration(absl::Ceil(grant->wait, absl::Seconds(1))))),
        grant->wait);
  };
}

}  // namespace galen::orchestrator
