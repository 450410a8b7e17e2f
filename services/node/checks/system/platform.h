#ifndef SERVICES_NODE_CHECKS_SYSTEM_PLATFORM_H_
#define SERVICES_NODE_CHECKS_SYSTEM_PLATFORM_H_

#include "absl/status/statusor.h"
#include "services/node/checks/check.h"

namespace galen::node {

// system.kernel_modules, system.cmdline, system.virtualization, system.security.
absl::StatusOr<CheckOutput> CheckKernelModules(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckCmdline(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckVirtualization(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckSecurity(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_PLATFORM_H_
