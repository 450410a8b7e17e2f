#ifndef SERVICES_NODE_CHECKS_RDMA_COUNTERS_H_
#define SERVICES_NODE_CHECKS_RDMA_COUNTERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/node/checks/check.h"
#include "services/node/checks/rdma/ports.h"

namespace galen::node {

// Totals since boot of one port, by the name of the file or of ethtool.
using PortCounters = std::map<std::string, std::int64_t>;

// Which counters make up a finding: their sum. Vendors name the same thing differently.
struct Growth {
  std::string finding;
  std::vector<std::string> counters;
  bool of_ethtool = false;  // counters of `ethtool -S` of the port's interface, not of the port
  // The value at which a counter saturates, if it does; at that value its growth is unknown.
  std::map<std::string, std::int64_t> most;
  // For a rate: it is reported above the limit only if, at the limit itself, that number of events
  // within the window is less likely than `chance`.
  double limit = 0;
  double chance = 1;
};

// The growths that rdma.counters of the knowledge lists (its `data`), in that order. INTERNAL when
// it lists none.
absl::StatusOr<std::vector<Growth>> GrowthsOf(const knowledge::Knowledge& knowledge);

// The counters of `growths` that the port has in sysfs: counters/ and hw_counters/.
PortCounters ReadCounters(const host::Host& host, const RdmaPort& port,
                          const std::vector<Growth>& growths);

// The growth of the counters of `growth` in sum; nothing if the two reads share none of them, if
// one of them went back (it was reset in between), or if one was at its maximum and no other grew.
// Pure.
std::optional<std::int64_t> Grown(const Growth& growth, const PortCounters& before,
                                  const PortCounters& after);

// The growth between two reads `apart` as findings of `device`; a name ending in _per_h or _per_s
// is a rate, one ending in _total is the sum since the counters began. A value that is unknown, or
// may be chance, is a finding without a value. Pure.
void AddDeltas(const std::string& node, const std::string& device,
               const std::vector<Growth>& growths, const PortCounters& before,
               const PortCounters& after, absl::Duration apart, CheckOutput* output);

// rdma.counters: on a live host two reads as far apart as parameter `window` says. A capture holds
// one read, and what a counter came to since boot says of the incident only where it is 0: there
// the growth is unknown.
absl::StatusOr<CheckOutput> CheckRdmaCounters(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_COUNTERS_H_
