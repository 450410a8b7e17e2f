#ifndef SERVICES_NODE_CHECKS_LOG_COLLECTIVE_TRACE_H_
#define SERVICES_NODE_CHECKS_LOG_COLLECTIVE_TRACE_H_

#include "absl/status/statusor.h"
#include "services/node/checks/check.h"
#include "services/node/checks/system/log_wants.h"

namespace galen::node {

// job.collective_trace.
extern const LogWant kCollectiveTraceWant;
absl::StatusOr<CheckOutput> CheckCollectiveTrace(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_LOG_COLLECTIVE_TRACE_H_
