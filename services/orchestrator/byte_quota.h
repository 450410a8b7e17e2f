#ifndef SERVICES_ORCHESTRATOR_BYTE_QUOTA_H_
#define SERVICES_ORCHESTRATOR_BYTE_QUOTA_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "common/base/clock.h"
#include "common/store/rate_limits.h"

namespace galen::orchestrator {

// Options::take_bytes: a tenant's incidents take at most `bytes_a_day` of the store, which all
// tenants share, by whatever door they come; what is used comes back evenly over a day. Counted in
// the store, over all orchestrators. RESOURCE_EXHAUSTED with a time to try again. While it cannot
// be counted nothing is refused, and `on_problem` is told: what cannot be counted cannot be stored
// either. Both must outlive it.
std::function<absl::Status(const std::string& parent, std::size_t bytes)> MakeByteQuota(
    store::RateLimits& rates, const Clock& clock, double bytes_a_day,
    std::function<void(const absl::Status&)> on_problem);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_BYTE_QUOTA_H_
