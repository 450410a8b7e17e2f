#ifndef SERVICES_GATEWAY_KUBERNETES_LEASE_H_
#define SERVICES_GATEWAY_KUBERNETES_LEASE_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/store/records.h"

namespace galen::gateway::kubernetes {

// Selects one of the gateways that share a store for a task. It saves work but does not fence: two
// gateways may hold it for a while, and must do no harm then. Not thread-safe.
class Lease {
 public:
  static constexpr absl::Duration kTime = absl::Seconds(30);

  // `owner` names this process. Both must outlive it.
  Lease(store::Records& records, std::string name, std::string owner, const Clock& clock)
      : records_(records), name_(std::move(name)), owner_(std::move(owner)), clock_(clock) {}

  // Takes or renews the lease if it is free. To be called about every third of kTime.
  absl::StatusOr<bool> Hold();
  // Leaves it to the others at once.
  void GiveUp();

 private:
  store::Records& records_;
  const std::string name_;
  const std::string owner_;
  const Clock& clock_;
};

}  // namespace galen::gateway::kubernetes

#endif  // SERVICES_GATEWAY_KUBERNETES_LEASE_H_
