#ifndef SERVICES_NODE_CHECKS_GPU_CHECKS_H_
#define SERVICES_NODE_CHECKS_GPU_CHECKS_H_

#include "absl/status/statusor.h"
#include "services/node/checks/check.h"

// The checks of this folder, each a NativeCheck; the catalogue has their findings under the names
// that gpu_checks.cc gives them. They are SKIPPED without a driver of NVIDIA or AMD; the checks of
// NVIDIA's features (NVLink, infoROM, MIG, ...) are SKIPPED on AMD, too.
namespace galen::node {

absl::StatusOr<CheckOutput> CheckGpuInventory(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuSmiHealth(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuEcc(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuRowRemap(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuPageRetirement(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuInforom(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuFirmware(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuThermal(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuPower(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuClocks(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuThrottle(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuPcieLink(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuPcieErrors(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuBar(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuNvlinkStatus(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuNvlinkErrors(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuFabricState(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuTopology(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuSettings(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuProcesses(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuRecoveryAction(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuDriver(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuXgmi(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckGpuC2c(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_GPU_CHECKS_H_
