#ifndef SERVICES_NODE_CHECKS_RDMA_QOS_H_
#define SERVICES_NODE_CHECKS_RDMA_QOS_H_

#include <array>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// The output of `mlnx_qos -i <netdev>`.
struct QosSettings {
  static constexpr int kPriorities = 8;
  std::string trust;                    // "dscp", "pcp"
  std::array<bool, kPriorities> pfc{};  // by priority
  std::map<int, int> priority_of_dscp;  // where it trusts DSCP
};

// INVALID_ARGUMENT: the output says nothing of PFC. Linear. Pure.
absl::StatusOr<QosSettings> ParseMlnxQos(absl::string_view text);

// Whether traffic of this class (the byte of NCCL_IB_TC: DSCP in its upper six bits) is sent at a
// priority that PFC protects; nothing if the settings do not say. Pure.
std::optional<bool> IsProtected(const QosSettings& settings, int traffic_class);

// rdma.qos: PFC, ECN and trust of the Ethernet ports, against the job's traffic class.
absl::StatusOr<CheckOutput> CheckQos(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_QOS_H_
