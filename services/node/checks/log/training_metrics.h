#ifndef SERVICES_NODE_CHECKS_LOG_TRAINING_METRICS_H_
#define SERVICES_NODE_CHECKS_LOG_TRAINING_METRICS_H_

#include "absl/status/statusor.h"
#include "services/node/checks/check.h"
#include "services/node/checks/system/log_wants.h"

namespace galen::node {

// job.training_metrics.
extern const LogWant kTrainingWant;
absl::StatusOr<CheckOutput> CheckTrainingMetrics(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_LOG_TRAINING_METRICS_H_
