#ifndef SERVICES_NODE_CHECKS_RDMA_ACTIVE_H_
#define SERVICES_NODE_CHECKS_RDMA_ACTIVE_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"
#include "services/node/checks/rdma/ports.h"
#include "services/node/checks/rdma/verbs/measure.h"

namespace galen::node {

// rdma.loopback: on a live host each port of the compute fabric writes to itself and what arrived
// is compared; from a capture, what ib_write_bw without a peer had printed.
absl::StatusOr<CheckOutput> CheckLoopback(const CheckContext& context);

// rdma.pair: two nodes measure with each other (verbs/measure.h has the protocol). Parameter `role`
// selects the side of this node. The server opens a port at `address` (default: the node's own, any
// free port), reports it as progress, "listening on ADDRESS:PORT", and waits for the client that
// knows `token`. In a capture, the output of ib_write_bw with a peer is read.
absl::StatusOr<CheckOutput> CheckPair(const CheckContext& context);

// OK where something was tried at a port at least. UNAVAILABLE: this node could not; ABORTED: it
// could have and its partner could not, so it may be tested with another. Pure.
absl::Status Tried(const std::vector<Measured>& all);

// Adds the findings of rdma.pair for the measurements at a port. Messages of less than
// `least_bytes` are not compared with a floor. Pure.
void AddMeasured(const CheckContext& context, const std::vector<RdmaPort>& ports,
                 const Measured& measured, absl::string_view gbps_name, double least_bytes,
                 CheckOutput* output);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_ACTIVE_H_
