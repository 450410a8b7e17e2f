#ifndef SERVICES_NODE_CHECKS_LOG_LOG_CHECKS_H_
#define SERVICES_NODE_CHECKS_LOG_LOG_CHECKS_H_

#include "absl/types/span.h"
#include "services/node/checks/check.h"

namespace galen::node {

// The checks of this folder under their names in the catalogue.
absl::Span<const NamedCheck> LogChecks();

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_LOG_LOG_CHECKS_H_
