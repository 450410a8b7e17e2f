#include "services/execution/node_registry.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/execution/hash_ring.h"

namespace galen::execution {

NodeRegistry::NodeRegistry(std::map<std::string, clients::NodeClient*> nodes,
                           std::vector<clients::NodeClient*> bundle_readers)
    : nodes_(std::move(nodes)), bundle_readers_(std::move(bundle_readers)) {}

NodeRegistry::NodeRegistry(Addresses fixed, std::vector<clients::NodeClient*> bundle_readers,
                           NodePool& pool, bool by_name)
    : fixed_(std::move(fixed)),
      bundle_readers_(std::move(bundle_readers)),
      pool_(&pool),
      by_name_(by_name) {}

absl::StatusOr<NodeRegistry::Node> NodeRegistry::Live(absl::string_view node) const {
  const std::string name(node);
  const auto given = nodes_.find(name);
  // Owned elsewhere.
  if (given != nodes_.end()) return Node(Node(), given->second);
  if (pool_ != nullptr) {
    const std::string peer = by_name_ ? name : "";
    const auto fixed = fixed_.find(name);
    if (fixed != fixed_.end()) return pool_->Get(fixed->second, peer);
    const std::shared_ptr<const Table> known = registered();
    const auto at = known->find(name);
    if (at != known->end()) return pool_->Get(at->second, peer);
  }
  return absl::NotFoundError("none is registered with execution");
}

bool NodeRegistry::Registered(const std::string& node) const {
  return nodes_.count(node) == 0 && fixed_.count(node) == 0 && registered()->contains(node);
}

std::string NodeRegistry::PlaceOf(const std::string& node) const {
  if (nodes_.count(node) > 0) return node;
  const auto fixed = fixed_.find(node);
  if (fixed != fixed_.end()) return by_name_ ? node : fixed->second;
  const std::shared_ptr<const Table> known = registered();
  const auto at = known->find(node);
  if (at == known->end()) return "";
  return by_name_ ? node : at->second;
}

std::string NodeRegistry::KeyOf(const std::string& node) const {
  const std::shared_ptr<const Table> known = registered();
  const auto at = known->find(node);
  return at == known->end() || !Registered(node) ? node : absl::StrCat(node, " at ", at->second);
}

clients::NodeClient* NodeRegistry::ForBundle(absl::string_view node, std::size_t attempt) const {
  if (attempt >= bundle_readers_.size()) return nullptr;
  return bundle_readers_[(StableHash(node) + attempt) % bundle_readers_.size()];
}

std::vector<std::string> NodeRegistry::LiveNodes() const {
  std::set<std::string> names;
  for (const auto& [name, client] : nodes_) names.insert(name);
  for (const auto& [name, address] : fixed_) names.insert(name);
  for (const auto& [name, address] : *registered()) names.insert(name);
  return {names.begin(), names.end()};
}

std::size_t NodeRegistry::size() const {
  const std::shared_ptr<const Table> known = registered();
  std::size_t count = nodes_.size() + fixed_.size() + known->size();
  for (const auto& [name, address] : fixed_) count -= known->count(name);
  return count;
}

void NodeRegistry::SetRegistered(const Addresses& addresses) {
  auto known = std::make_shared<const Table>(addresses.begin(), addresses.end());
  MutexLock lock(mu_);
  registered_.swap(known);
}

}  // namespace galen::execution
