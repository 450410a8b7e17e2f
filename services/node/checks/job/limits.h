#ifndef SERVICES_NODE_CHECKS_JOB_LIMITS_H_
#define SERVICES_NODE_CHECKS_JOB_LIMITS_H_

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// A soft limit of /proc/<pid>/limits by its name ("Max locked memory"); kUnlimited for unlimited.
inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
std::map<std::string, std::int64_t> ParseLimits(absl::string_view text);

// job.limits, container.limits, container.shm, container.devices, job.placement.
absl::StatusOr<CheckOutput> CheckJobLimits(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckContainerLimits(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckContainerShm(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckContainerDevices(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckJobPlacement(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_JOB_LIMITS_H_
