#ifndef SERVICES_EXECUTION_NODE_REGISTRY_H_
#define SERVICES_EXECUTION_NODE_REGISTRY_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/mutex.h"
#include "common/clients/clients.h"
#include "services/execution/client_pool.h"

namespace galen::execution {

using NodePool = ClientPool<clients::NodeClient>;

// Which node executor serves which node: those that were named from the beginning, and those that
// registered. Thread-safe.
class NodeRegistry {
 public:
  // Held while a call is under way.
  using Node = std::shared_ptr<clients::NodeClient>;
  using Addresses = std::map<std::string, std::string>;  // by host name

  // `nodes`: host name to its executor. `bundle_readers`: executors that may read bundles; the
  // nodes of a bundle are spread over them. Clients must outlive the registry.
  NodeRegistry(std::map<std::string, clients::NodeClient*> nodes,
               std::vector<clients::NodeClient*> bundle_readers);
  // `fixed`: nodes that need not register. Clients come of `pool`, which must outlive the registry
  // and its calls. `by_name`: each node has a client of its own, which insists on that name; else
  // nodes at one address share one.
  NodeRegistry(Addresses fixed, std::vector<clients::NodeClient*> bundle_readers, NodePool& pool,
               bool by_name);

  // The executor of a node. NOT_FOUND none is known; else why there is no client for it.
  absl::StatusOr<Node> Live(absl::string_view node) const;
  // Whether the node registered (and is not one of those named from the beginning).
  bool Registered(const std::string& node) const;
  // Nodes with the same place may be asked in one call. "" when no executor is known.
  std::string PlaceOf(const std::string& node) const;
  // Identifies the node at its address: a node that moved has another key.
  std::string KeyOf(const std::string& node) const;
  // The reader for a bundle's node: always the same one for a name; `attempt` counts on to the next
  // ones, which are asked if it does not answer. nullptr when there is none, or no other.
  clients::NodeClient* ForBundle(absl::string_view node, std::size_t attempt = 0) const;
  // Host names with an executor, sorted.
  std::vector<std::string> LiveNodes() const;
  std::size_t size() const;

  // Replaces the registered nodes.
  void SetRegistered(const Addresses& addresses);

 private:
  using Table = absl::flat_hash_map<std::string, std::string>;

  std::shared_ptr<const Table> registered() const {
    MutexLock lock(mu_);
    return registered_;
  }

  const std::map<std::string, clients::NodeClient*> nodes_;
  const Addresses fixed_;
  const std::vector<clients::NodeClient*> bundle_readers_;
  NodePool* const pool_ = nullptr;
  const bool by_name_ = true;
  mutable Mutex mu_;
  std::shared_ptr<const Table> registered_ ABSL_GUARDED_BY(mu_) = std::make_shared<const Table>();
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_NODE_REGISTRY_H_
