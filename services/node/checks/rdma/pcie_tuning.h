#ifndef SERVICES_NODE_CHECKS_RDMA_PCIE_TUNING_H_
#define SERVICES_NODE_CHECKS_RDMA_PCIE_TUNING_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// The settings of an adapter from `mlxconfig -d <device> q`.
struct AdapterSettings {
  std::string type;  // "ConnectX6"
  // MAX_ACC_OUT_READ: reads over PCIe that may be under way at a time; 0: the firmware decides.
  std::optional<std::int64_t> outstanding_reads;
};

// Pure; what is not there stays empty.
AdapterSettings ParseMlxconfig(absl::string_view text);

// rdma.pcie.
absl::StatusOr<CheckOutput> CheckRdmaPcie(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_PCIE_TUNING_H_
