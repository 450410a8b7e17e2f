#ifndef SERVICES_EXECUTION_PEERS_H_
#define SERVICES_EXECUTION_PEERS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "common/base/mutex.h"
#include "common/clients/clients.h"
#include "services/execution/client_pool.h"
#include "services/execution/hash_ring.h"

namespace galen::execution {

using ExecutionPool = ClientPool<clients::ExecutionClient>;

// The other replicas of execution, and which nodes are whose. Until Use() there are none.
// Thread-safe.
class Peers {
 public:
  // `pool` must outlive the peers and their calls.
  explicit Peers(ExecutionPool& pool) : pool_(pool) {}

  // Sets the live replicas by address; `self` is this one, whether it is among them or not.
  void Use(const std::string& self, std::vector<std::string> replicas);

  // The nodes by the address of the replica that owns them; "" is this one. Replicas that disagree
  // on the members ask a node from two places, or ask none of them from its own: no harm.
  std::map<std::string, std::vector<std::string>> Divide(std::vector<std::string> nodes) const;

  absl::StatusOr<std::shared_ptr<clients::ExecutionClient>> Connect(
      const std::string& address) const {
    return pool_.Get(address, "");
  }

 private:
  struct Division {
    std::string self;
    HashRing ring;
    bool alone;
  };

  ExecutionPool& pool_;
  mutable Mutex mu_;
  std::shared_ptr<const Division> division_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_PEERS_H_
