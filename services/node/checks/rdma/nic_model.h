#ifndef SERVICES_NODE_CHECKS_RDMA_NIC_MODEL_H_
#define SERVICES_NODE_CHECKS_RDMA_NIC_MODEL_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "common/knowledge/knowledge.h"
#include "services/node/checks/rdma/ports.h"

namespace galen::node {

// The value of `fact` for the port's adapter model (knowledge/hardware/nics.yaml: rate_gbps, width,
// write_floor_gbps, ...); nothing when the board or the fact is unknown.
std::optional<double> NicFact(const knowledge::Knowledge& knowledge, const RdmaPort& port,
                              absl::string_view fact);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_NIC_MODEL_H_
