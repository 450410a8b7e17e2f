#ifndef SERVICES_NODE_CHECKS_RDMA_NETDEVS_H_
#define SERVICES_NODE_CHECKS_RDMA_NETDEVS_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "common/host/host.h"
#include "services/node/checks/rdma/ports.h"

namespace galen::node {

// The network device of an RDMA port: from sysfs (gid_attrs/ndevs), else `rdma -j link show`, else
// ibdev2netdev. "" where none is known.
std::string NetdevOf(const host::Host& host, const RdmaPort& port);

// Network devices by "device/port". Linear. Pure.
std::map<std::string, std::string> NetdevsOfRdmaLink(absl::string_view json);
std::map<std::string, std::string> NetdevsOfIbdev2netdev(absl::string_view text);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_NETDEVS_H_
