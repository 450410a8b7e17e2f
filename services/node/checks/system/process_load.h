#ifndef SERVICES_NODE_CHECKS_SYSTEM_PROCESS_LOAD_H_
#define SERVICES_NODE_CHECKS_SYSTEM_PROCESS_LOAD_H_

#include "absl/status/statusor.h"
#include "services/node/checks/check.h"

namespace galen::node {

// system.process_load.
absl::StatusOr<CheckOutput> CheckProcessLoad(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_PROCESS_LOAD_H_
