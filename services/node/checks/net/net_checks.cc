#include "services/node/checks/net/net_checks.h"

#include "services/node/checks/net/cloud_policy.h"
#include "services/node/checks/net/links.h"
#include "services/node/checks/net/reachability.h"
#include "services/node/checks/net/routes.h"

namespace galen::node {

absl::Span<const NamedCheck> NetChecks() {
  static constexpr NamedCheck kChecks[] = {
      {"net.interfaces", CheckInterfaces},
      {"net.routes", CheckRoutes},
      {"net.reachability", CheckReachability},
      {"net.cloud_policy", CheckCloudPolicy},
  };
  return kChecks;
}

}  // namespace galen::node
