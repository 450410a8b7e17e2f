#ifndef SERVICES_NODE_CHECKS_JOB_ENVIRONMENT_H_
#define SERVICES_NODE_CHECKS_JOB_ENVIRONMENT_H_

#include "absl/status/statusor.h"
#include "services/node/checks/check.h"

namespace galen::node {

// user.env, container.runtime.
absl::StatusOr<CheckOutput> CheckUserEnv(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckContainerRuntime(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_JOB_ENVIRONMENT_H_
