#ifndef SERVICES_NODE_CHECKS_GPU_PCI_DEVICES_H_
#define SERVICES_NODE_CHECKS_GPU_PCI_DEVICES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/host/host.h"

namespace galen::node {

// A device as `lspci -vvv -nn` shows it.
struct PciDevice {
  std::string address;     // 0000:b3:00.0
  std::string class_code;  // "0302"
  std::string vendor;      // "10de"
  std::string device_id;   // "2330"
  std::string driver;      // "Kernel driver in use"; empty: none
  // For a bridge: the bus right behind it ("b3"), and the last one behind it.
  std::string secondary_bus;
  std::string subordinate_bus;
  // "Root Port", "Upstream Port", "Downstream Port", "Endpoint"; empty: not reported.
  std::string express_kind;
  // Its link towards the CPU; of a port, the link to what is behind it.
  std::optional<std::int64_t> link_gen;
  std::optional<std::int64_t> link_gen_max;
  std::optional<std::int64_t> link_width;
  std::optional<std::int64_t> link_width_max;
  // The device answers every read with ones: revision ff, header type 7f.
  bool dead = false;
  // A memory region without an address.
  bool region_unassigned = false;
  std::string text;  // its block of the output
};

std::vector<PciDevice> ParseLspci(absl::string_view output);

// The bridges between the root complex and the device, the nearest first; empty where lspci shows
// none. At most 32.
std::vector<const PciDevice*> BridgesAbove(absl::string_view address,
                                           const std::vector<PciDevice>& devices);

// All devices. The host's errors; ABORTED when lspci failed.
absl::StatusOr<std::vector<PciDevice>> ListPciDevices(const host::Host& host);

bool IsNvidiaGpu(const PciDevice& device);
bool IsAmdGpu(const PciDevice& device);
bool IsNvSwitch(const PciDevice& device);
// Given away to a virtual machine, so that the host's driver rightly does not list it.
bool BelongsToGuest(const PciDevice& device);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_GPU_PCI_DEVICES_H_
