#ifndef SERVICES_NODE_CHECKS_RDMA_PORTS_H_
#define SERVICES_NODE_CHECKS_RDMA_PORTS_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/host/host.h"

namespace galen::node {

// One port of one RDMA device. Text fields are empty where they could not be read.
struct RdmaPort {
  std::string hca;  // "mlx5_0"
  int number = 1;
  std::string state;       // ACTIVE, ARMED, INITIALIZING, DOWN
  std::string phys_state;  // LinkUp, Polling, Disabled, ...
  std::string link_layer;  // InfiniBand, Ethernet
  std::optional<double> rate_gbps;
  std::optional<int> width;  // lanes
  std::optional<int> sm_lid;
  std::string type;     // "MT4129": adapters of one type are peers
  std::string board;    // board id
  std::string pci;      // "0000:1a:00.1": its function on the bus
  bool was_up = false;  // it lost its link since the driver counts
};

// "nic:mlx5_0/port:1".
std::string DeviceOf(const RdmaPort& port);

// All ports of the host: from sysfs, else from ibstat, else from `rdma -j link show`. NOT_FOUND
// when the host has no RDMA device, else as in host::Host. Sorted by device in natural order
// (mlx5_2 before mlx5_10), then port.
absl::StatusOr<std::vector<RdmaPort>> ReadPorts(const host::Host& host);

// Names of the ports' devices, each once, in the order of `ports`.
std::vector<std::string> Hcas(const std::vector<RdmaPort>& ports);

// Which ports make up the compute fabric, as DeviceOf() names them: of those on InfiniBand, where
// there are any, else of those on Ethernet, the ports of the adapters of the type and board that
// occurs most often (of the fastest among equals). A management or storage adapter of another type
// is not part of it, nor is the second port of cards that all have it without a cable. Empty when
// all InfiniBand ports are switched off: then the node is used without its fabric. Pure.
std::set<std::string> FabricPorts(const std::vector<RdmaPort>& ports);

// Whether the job's choice of adapters (NCCL_IB_HCA), as far as it makes one, names this one, by
// its whole name: a prefix of many, "mlx5", does not say that each of them matters.
bool JobNames(const host::Host& host, absl::string_view hca);

// The active ports with a rate that have the type, board and link layer of `port`, itself too.
// Pure.
std::vector<const RdmaPort*> ActivePeers(const RdmaPort& port, const std::vector<RdmaPort>& ports);

// The rate most common among the active ports of the same type, board and link layer as `port`,
// the higher of equals; nothing when none of them is active. Pure.
std::optional<double> ExpectedRate(const RdmaPort& port, const std::vector<RdmaPort>& ports);

// Parser of `ibstat`. Pure.
std::vector<RdmaPort> ParseIbstat(absl::string_view text);

// Parser of `rdma -j link show`: what the kernel tells over RDMA netlink, without rates.
// INVALID_ARGUMENT: not such JSON. Pure.
absl::StatusOr<std::vector<RdmaPort>> ParseRdmaLink(absl::string_view json);

// Parser of `ibv_devinfo -v`, which tells no rates that it names as one number. Pure.
std::vector<RdmaPort> ParseDevinfo(absl::string_view text);

// "ACTIVE" of "4: ACTIVE", "INITIALIZING" of "2: INIT" and of "Initializing". Pure.
std::string NormalState(absl::string_view state);

// True when a comes before b, runs of digits compared as numbers.
bool NaturalLess(absl::string_view a, absl::string_view b);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_PORTS_H_
