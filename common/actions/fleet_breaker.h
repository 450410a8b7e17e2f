#ifndef COMMON_ACTIONS_FLEET_BREAKER_H_
#define COMMON_ACTIONS_FLEET_BREAKER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/store/records.h"
#include "galen/gateway/v1/actions.pb.h"

namespace galen::actions {

struct FleetLimits {
  // Repairs under way at once, of the whole fleet, one a node.
  int at_once = 2;
  // So many that failed within `window` stop all others: something is wrong with the diagnoses, or
  // with what is done. The one that is oldest leaving the window lets the next one try.
  int failures = 3;
  absl::Duration window = absl::Hours(1);
  // One that did not end within this is counted as failed.
  absl::Duration longest = absl::Hours(2);
};

// Whether a repair of `node` may begin now. RESOURCE_EXHAUSTED too many are under way, or one of
// this node is: it may later; FAILED_PRECONDITION too many failed. Pure.
absl::Status MayBegin(const gateway::v1::RepairHistory& history, absl::string_view node,
                      const FleetLimits& limits, absl::Time now);

// The breaker of all replicas: what they began and ended, in one record of the store. Thread-safe;
// errors beside those named: as of store::Records.
class FleetBreaker {
 public:
  // `records` must outlive it.
  FleetBreaker(store::Records& records, FleetLimits limits) : records_(records), limits_(limits) {}

  // Errors of MayBegin. OK also when this action has begun and not ended.
  absl::Status Begin(const std::string& action, const std::string& node, absl::Time now);
  absl::Status End(const std::string& action, bool failed, absl::Time now);

 private:
  store::Records& records_;
  const FleetLimits limits_;
};

}  // namespace galen::actions

#endif  // COMMON_ACTIONS_FLEET_BREAKER_H_
