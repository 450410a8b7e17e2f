#ifndef SERVICES_NODE_CHECKS_RDMA_COUNTERS_H_
#define SERVICES_NODE_CHECKS_RDMA_COUNTERS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/node/checks/check.h"

namespace galen::node {

// Totals since boot of one port, by the name of the file.
using PortCounters = std::map<std::string, std::int64_t>;

// The growth between two reads `apart` as findings of rdma.counters for `device`. A counter that
// either read lacks, or that went back, is a finding without a value. Pure.
void AddDeltas(const std::string& node, const std::string& device, const PortCounters& before,
               const PortCounters& after, absl::Duration apart, CheckOutput* output);

// rdma.counters: on a live host two reads a second apart. A capture holds one read, and what a
// counter came to since boot says nothing of the incident: there the growth is unknown.
absl::StatusOr<CheckOutput> CheckRdmaCounters(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_COUNTERS_H_
