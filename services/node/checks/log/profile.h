#ifndef SERVICES_NODE_CHECKS_LOG_PROFILE_H_
#define SERVICES_NODE_CHECKS_LOG_PROFILE_H_

#include "absl/status/statusor.h"
#include "services/node/checks/check.h"

namespace galen::node {

// job.profile: where the time of a step goes, by the traces of profilers that lie with the job's
// logs, and which rank holds the others up (common/profile).
absl::StatusOr<CheckOutput> CheckProfile(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_LOG_PROFILE_H_
