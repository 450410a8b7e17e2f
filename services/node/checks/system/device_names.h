#ifndef SERVICES_NODE_CHECKS_SYSTEM_DEVICE_NAMES_H_
#define SERVICES_NODE_CHECKS_SYSTEM_DEVICE_NAMES_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "common/host/host.h"

namespace galen::node {

// Names of devices, in the form of galen.v1.Device, by PCI address (0000:b3:00.0): "gpu:1" in the
// order of the driver, "nic:mlx5_0" by its RDMA device. Holds what the host can tell, which may
// be nothing.
std::map<std::string, std::string> DeviceNames(const host::Host& host);

// The device's name, else "pci:<address>"; empty for an empty address.
std::string DeviceAt(const std::map<std::string, std::string>& names, absl::string_view pci);

// The parsers behind it. Pure.
std::map<std::string, std::string> GpusOfSmiXml(absl::string_view xml);
std::map<std::string, std::string> GpusOfRocmSmi(absl::string_view json);
std::map<std::string, std::string> NicsOfIbdev2netdev(absl::string_view text);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_DEVICE_NAMES_H_
