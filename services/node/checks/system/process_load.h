#ifndef SERVICES_NODE_CHECKS_SYSTEM_PROCESS_LOAD_H_
#define SERVICES_NODE_CHECKS_SYSTEM_PROCESS_LOAD_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "services/node/checks/check.h"

namespace galen::node {

// Process ids of the job, sorted: those whose /proc entries the job's view shows.
std::vector<std::int64_t> JobProcesses(const host::Host& host);

// system.process_load.
absl::StatusOr<CheckOutput> CheckProcessLoad(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_PROCESS_LOAD_H_
