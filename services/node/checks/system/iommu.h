#ifndef SERVICES_NODE_CHECKS_SYSTEM_IOMMU_H_
#define SERVICES_NODE_CHECKS_SYSTEM_IOMMU_H_

#include "absl/status/statusor.h"
#include "services/node/checks/check.h"

namespace galen::node {

// system.iommu, system.acs: what redirects transfers between devices.
absl::StatusOr<CheckOutput> CheckIommu(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckAcs(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_IOMMU_H_
