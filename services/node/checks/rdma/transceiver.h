#ifndef SERVICES_NODE_CHECKS_RDMA_TRANSCEIVER_H_
#define SERVICES_NODE_CHECKS_RDMA_TRANSCEIVER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// A cable or module and the signal on it. Values that were not reported are absent or empty.
struct Transceiver {
  std::string state;       // "Active", "Down"
  std::string phys_state;  // "ETH_AN_FSM_ENABLE", "Disabled"
  std::optional<double> effective_ber;
  std::optional<double> raw_ber;
  std::optional<double> module_c;
  std::optional<double> module_max_c;  // its own limit
  std::optional<bool> rx_power_low;    // of any lane, by the module's own limit
  std::string part;
  // True when there is a section on the module that says of faults; then `faults` names those set.
  bool faults_known = false;
  std::vector<std::string> faults;
};

// `mlxlink --json`. INVALID_ARGUMENT: not such JSON. Pure.
absl::StatusOr<Transceiver> ParseMlxlink(absl::string_view json);

// `ethtool -m`. INVALID_ARGUMENT: it says nothing of a module. Linear. Pure.
absl::StatusOr<Transceiver> ParseEthtoolModule(absl::string_view text);

// rdma.transceiver: by mlxlink, else by ethtool.
absl::StatusOr<CheckOutput> CheckTransceiver(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_TRANSCEIVER_H_
