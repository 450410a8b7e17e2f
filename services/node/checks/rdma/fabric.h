#ifndef SERVICES_NODE_CHECKS_RDMA_FABRIC_H_
#define SERVICES_NODE_CHECKS_RDMA_FABRIC_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// A link of an InfiniBand fabric, as one of its ends has it.
struct FabricLink {
  std::string from;    // "S-0ff08c43213b3f30[1]": node and port
  std::string to;      // the same of the other end
  int width = 0;       // lanes
  std::string speed;   // "HDR"
  bool trunk = false;  // between switches
};
struct FabricReport {
  int switches = 0;
  int adapters = 0;
  std::vector<FabricLink> links;
};

// `ibnetdiscover`. INVALID_ARGUMENT: no node in it. A report that ends in the middle is read as far
// as it goes. Linear. Pure.
absl::StatusOr<FabricReport> ParseIbnetdiscover(absl::string_view text);

// The links with fewer lanes than most of their kind have, trunks and those of hosts apart:
// splitter cables give hosts half of a trunk's. By name. Pure.
std::vector<std::string> NarrowLinks(const FabricReport& report);

// The statuses of a switch in the output of `ibswinfo`: "PSU0 status" to "OK". Indented lines of a
// power supply carry its name: "PSU0 fan status". INVALID_ARGUMENT: it holds no status. Linear.
// Pure.
absl::StatusOr<std::map<std::string, std::string>> ParseIbswinfo(absl::string_view text);

// The states of those that are not OK: "fan status ERROR". An empty one is unknown and is left out.
// Pure.
std::vector<std::string> SwitchFaults(const std::map<std::string, std::string>& fields);

// rdma.fabric and rdma.switches.
absl::StatusOr<CheckOutput> CheckFabricLinks(const CheckContext& context);
absl::StatusOr<CheckOutput> CheckSwitches(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_FABRIC_H_
