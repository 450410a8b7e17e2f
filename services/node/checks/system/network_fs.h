#ifndef SERVICES_NODE_CHECKS_SYSTEM_NETWORK_FS_H_
#define SERVICES_NODE_CHECKS_SYSTEM_NETWORK_FS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// The statistics of one NFS mount in /proc/self/mountstats, since it was mounted
// (Documentation/filesystems/nfs/rpc-server-gss and nfs-utils' mountstats(8) explain the fields).
struct NfsMount {
  std::string source;  // "10.0.0.1:/export"
  std::string target;  // "/data"
  std::int64_t age_s = 0;
  std::int64_t read_bytes = 0;  // from the server
  // Over all transports of the mount (nconnect).
  std::int64_t sends = 0;
  std::int64_t backlog = 0;  // sum of the requests that waited for a slot, taken at each send
  std::int64_t max_slots = 0;
  std::int64_t retransmissions = 0;
};

// Mounts of type nfs and nfs4. Pure.
std::vector<NfsMount> ParseMountStats(absl::string_view text);

// Requests that wait for a slot on average, by mount, of what nfsiostat printed last of each. Pure.
std::map<std::string, double> ParseNfsiostat(absl::string_view text);

// Retransmissions since boot, of the line "rpc calls retrans authrefresh" of /proc/net/rpc/nfs.
// DATA_LOSS: it is not that.
absl::StatusOr<std::int64_t> ParseRpcRetransmissions(absl::string_view text);

// system.network_fs.
absl::StatusOr<CheckOutput> CheckNetworkFs(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_NETWORK_FS_H_
