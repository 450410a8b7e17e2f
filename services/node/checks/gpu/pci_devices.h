#ifndef SERVICES_NODE_CHECKS_GPU_PCI_DEVICES_H_
#define SERVICES_NODE_CHECKS_GPU_PCI_DEVICES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/host/host.h"

namespace galen::node {

// A device as `lspci -vvv -nn` shows it.
struct PciDevice {
  std::string address;        // 0000:b3:00.0
  std::string class_code;     // "0302"
  std::string vendor;         // "10de"
  std::string driver;         // "Kernel driver in use"; empty: none
  std::string secondary_bus;  // of a bridge: "b3"
  // The device answers every read with ones: revision ff, header type 7f.
  bool dead = false;
  // A memory region without an address.
  bool region_unassigned = false;
  std::string text;  // its block of the output
};

std::vector<PciDevice> ParseLspci(absl::string_view output);

// All devices. The host's errors; ABORTED when lspci failed.
absl::StatusOr<std::vector<PciDevice>> ListPciDevices(const host::Host& host);

bool IsNvidiaGpu(const PciDevice& device);
bool IsNvSwitch(const PciDevice& device);
// Given away to a virtual machine, so that the host's driver rightly does not list it.
bool BelongsToGuest(const PciDevice& device);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_GPU_PCI_DEVICES_H_
