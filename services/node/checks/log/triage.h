#ifndef SERVICES_NODE_CHECKS_LOG_TRIAGE_H_
#define SERVICES_NODE_CHECKS_LOG_TRIAGE_H_

#include "absl/status/statusor.h"
#include "services/node/checks/check.h"
#include "services/node/checks/system/log_wants.h"

namespace galen::node {

// log.triage: the first failure in time over all ranks, how processes ended.
extern const LogWant kTriageWant;
absl::StatusOr<CheckOutput> CheckTriage(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_LOG_TRIAGE_H_
