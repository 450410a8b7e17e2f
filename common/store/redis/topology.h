#ifndef COMMON_STORE_REDIS_TOPOLOGY_H_
#define COMMON_STORE_REDIS_TOPOLOGY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/store/redis/config.h"
#include "common/store/redis/link.h"

namespace galen::store::redis {

// Which server has which key, and the connections to them. Thread-safe.
class Topology {
 public:
  virtual ~Topology() = default;

  // The server that has the slot, as far as is known. UNAVAILABLE when that cannot be found out;
  // PERMISSION_DENIED when nobody may be asked.
  virtual absl::StatusOr<std::shared_ptr<Link>> LinkOf(int slot) = 0;
  // A server that another one named in -MOVED or -ASK.
  virtual absl::StatusOr<std::shared_ptr<Link>> LinkTo(const Address& address) = 0;
  // The server replied -MOVED.
  virtual void Moved(int slot, const Address& address) = 0;
  // This server did not answer, or is no longer the master: the map of the slots must be read
  // again.
  virtual void Suspect(const Link& link) = 0;
};

std::unique_ptr<Topology> MakeSingle(const Config& config);
std::unique_ptr<Topology> MakeSentinel(const Config& config);
std::unique_ptr<Topology> MakeCluster(const Config& config);

// Options that all links to data servers share.
Link::Options DataLink(const Config& config);

// "host:port" as Redis writes it: the host may be empty, which means `asked`, or a v6 address
// without brackets. INVALID_ARGUMENT.
absl::StatusOr<Address> ParseRedirection(absl::string_view text, const Address& asked);

}  // namespace galen::store::redis

#endif  // COMMON_STORE_REDIS_TOPOLOGY_H_
