#ifndef COMMON_REMEDIATION_REPAIR_CIRCUIT_BREAKER_H_
#define COMMON_REMEDIATION_REPAIR_CIRCUIT_BREAKER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/store/records.h"
#include "galen/gateway/v1/actions.pb.h"

namespace galen::remediation {

struct FleetLimits {
  // Repairs in progress at once, of the whole fleet, one per node.
  int at_once = 2;
  // This many failures within `window` stop all further repairs: something is wrong with the
  // diagnoses or with the action. When the oldest leaves the window, the next repair may try.
  int failures = 3;
  absl::Duration window = absl::Hours(1);
  // A repair that did not end within this time counts as failed.
  absl::Duration longest = absl::Hours(2);
};

// Whether a repair of `node` may begin now. RESOURCE_EXHAUSTED if too many are in progress, or one
// of this node is: it may begin later; FAILED_PRECONDITION if too many failed. Pure.
absl::Status MayBegin(const gateway::v1::RepairHistory& history, absl::string_view node,
                      const FleetLimits& limits, absl::Time now);

// The breaker of all replicas: the repairs that began and ended, in one record of the store.
// Thread-safe; errors that are not named here are those of store::Records.
class RepairCircuitBreaker {
 public:
  // `records` must outlive it.
  RepairCircuitBreaker(store::Records& records, FleetLimits limits)
      : records_(records), limits_(limits) {}

  // Errors as for MayBegin. Also OK if this action has begun and not ended.
  absl::Status Begin(const std::string& action, const std::string& node, absl::Time now);
  absl::Status End(const std::string& action, bool failed, absl::Time now);

 private:
  store::Records& records_;
  const FleetLimits limits_;
};

}  // namespace galen::remediation

#endif  // COMMON_REMEDIATION_REPAIR_CIRCUIT_BREAKER_H_
