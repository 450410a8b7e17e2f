#ifndef SERVICES_NODE_CHECKS_NET_NET_CHECKS_H_
#define SERVICES_NODE_CHECKS_NET_NET_CHECKS_H_

#include "absl/types/span.h"
#include "services/node/checks/check.h"

namespace galen::node {

// The checks net.* of this folder; those that only read the system's state are in system/.
absl::Span<const NamedCheck> NetChecks();

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_NET_NET_CHECKS_H_
