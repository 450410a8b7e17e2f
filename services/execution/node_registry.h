#ifndef SERVICES_EXECUTION_NODE_REGISTRY_H_
#define SERVICES_EXECUTION_NODE_REGISTRY_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/clients/clients.h"

namespace galen::execution {

// Which node executor serves which node. Immutable after construction, hence thread-safe.
class NodeRegistry {
 public:
  // `nodes`: host name to its executor. `bundle_readers`: executors that may read bundles; the
  // nodes of a bundle are spread over them. Clients must outlive the registry.
  NodeRegistry(std::map<std::string, clients::NodeClient*> nodes,
               std::vector<clients::NodeClient*> bundle_readers);

  // nullptr when no executor is known for the node.
  clients::NodeClient* Live(absl::string_view node) const;
  // The reader for a bundle's node: always the same one for a name, and with `attempt` the one
  // after it that is asked where it does not answer; nullptr when there is none, or no other.
  clients::NodeClient* ForBundle(absl::string_view node, std::size_t attempt = 0) const;
  // Host names with an executor, sorted.
  std::vector<std::string> LiveNodes() const;

 private:
  const std::map<std::string, clients::NodeClient*> nodes_;
  const std::vector<clients::NodeClient*> bundle_readers_;
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_NODE_REGISTRY_H_
