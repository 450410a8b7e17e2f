#ifndef SERVICES_NODE_CHECKS_RDMA_GID_TABLE_H_
#define SERVICES_NODE_CHECKS_RDMA_GID_TABLE_H_

#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/host/host.h"
#include "services/node/checks/rdma/ports.h"

namespace galen::node {

// "/sys/class/infiniband/mlx5_0/ports/1".
std::string FolderOf(const RdmaPort& port);

// The first lines of a folder's files whose names are numbers, by number; empty where nothing is
// known of the folder. The kernel puts an entry into the first free place of such a table, so
// after `gap` places in a row that are free the rest is not read: a table of addresses has up to
// 1024 places, nearly all of them free.
constexpr int kGap = 16;
std::map<int, std::string> NumberedFiles(const host::Host& host, const std::string& folder,
                                         int gap = kGap);

// True for an IPv4 address within a GID: 0000:0000:0000:0000:0000:ffff:c000:0204. Pure.
bool IsIpv4Gid(absl::string_view gid);

// True for an address of IPv6 that is neither link-local nor that of IPv4 nor empty. Pure.
bool IsGlobalIpv6Gid(absl::string_view gid);

// The addresses of a port and their types ("IB/RoCE v1", "RoCE v2"), by index.
struct GidTable {
  std::map<int, std::string> gids;
  std::map<int, std::string> types;
};
GidTable ReadGidTable(const host::Host& host, const RdmaPort& port);

// The first index that is a RoCE v2 address of IPv4. Pure.
std::optional<int> RoceV2Ipv4Index(const GidTable& table);

// The index to use: the first RoCE v2 address of IPv4, else the first of RoCE v2 that is not
// link-local, else the first of RoCE v2, else 0. Pure.
int UsableGidIndex(const GidTable& table);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_GID_TABLE_H_
