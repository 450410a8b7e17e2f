#ifndef SERVICES_NODE_CHECKS_RDMA_HCA_LIST_H_
#define SERVICES_NODE_CHECKS_RDMA_HCA_LIST_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace galen::node {

// A list of devices as NCCL_IB_HCA and NCCL_SOCKET_IFNAME write it: "mlx5_0:1,mlx5_1" (prefixes),
// "=mlx5_0" (exact names), "^mlx5_2" (all but), "^=mlx5_2" (all but exactly).
struct DeviceList {
  struct Entry {
    std::string name;
    std::optional<int> port;
  };
  bool excludes = false;
  bool exact = false;
  std::vector<Entry> entries;
  // Malformed entries: a mark (^ or =) or a blank within the list, which the library takes as part
  // of a name; a port that is not a number. The library ignores an empty entry.
  std::vector<std::string> malformed;
};

// Pure. `value` is bounded by the caller.
DeviceList ParseDeviceList(absl::string_view value);

// True when the entry names that device: by its whole name if `exact`, else by prefix.
bool Names(const DeviceList::Entry& entry, bool exact, absl::string_view device);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_HCA_LIST_H_
