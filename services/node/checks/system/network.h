#ifndef SERVICES_NODE_CHECKS_SYSTEM_NETWORK_H_
#define SERVICES_NODE_CHECKS_SYSTEM_NETWORK_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// net.resolve, net.ports, net.tcp_counters.
absl::StatusOr<CheckOutput> CheckResolve(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckPorts(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckTcpCounters(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_NETWORK_H_
