#ifndef SERVICES_NODE_CHECKS_SYSTEM_PLATFORM_H_
#define SERVICES_NODE_CHECKS_SYSTEM_PLATFORM_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// Why the kernel died, from a record that it left ("Kernel panic - not syncing: ..."); empty: the
// record does not say. Pure.
std::string PanicReason(absl::string_view record);

// system.kernel_modules, system.cmdline, system.iommu, system.acs, system.virtualization,
// system.security, system.boot_history.
absl::StatusOr<CheckOutput> CheckKernelModules(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckCmdline(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckIommu(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckAcs(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckVirtualization(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckSecurity(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckBootHistory(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_PLATFORM_H_
