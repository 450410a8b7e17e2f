#ifndef SERVICES_NODE_CHECKS_RDMA_RETRIES_H_
#define SERVICES_NODE_CHECKS_RDMA_RETRIES_H_

#include <vector>

#include "services/node/checks/check.h"
#include "services/node/checks/rdma/counters.h"
#include "services/node/checks/rdma/ports.h"
#include "services/node/checks/rdma/verbs/measure.h"

namespace galen::node {

// Counts retransmissions at the measured ports between construction and Add(): growth of the
// counters that rdma.counters of the knowledge lists for them. Traffic of the node's other
// adapters, such as one to a storage network, does not count.
class Retries {
 public:
  // `context` must outlive this.
  Retries(const CheckContext& context, const std::vector<RdmaPort>& ports,
          const std::vector<MeasuredPort>& chosen);

  // Adds finding `retries` of each of the chosen ports.
  void Add(CheckOutput* output) const;

 private:
  std::vector<PortCounters> Read() const;

  const CheckContext& context_;
  std::vector<RdmaPort> ports_;
  std::vector<Growth> growths_;
  std::vector<PortCounters> before_;
};

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_RETRIES_H_
