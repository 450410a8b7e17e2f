#include "services/execution/node_registry.h"

#include <utility>

namespace galen::execution {
namespace {

// FNV-1a: the choice has to be the same in every process and on every day.
std::uint64_t StableHash(absl::string_view text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

}  // namespace

NodeRegistry::NodeRegistry(std::map<std::string, clients::NodeClient*> nodes,
                           std::vector<clients::NodeClient*> bundle_readers)
    : nodes_(std::move(nodes)), bundle_readers_(std::move(bundle_readers)) {}

clients::NodeClient* NodeRegistry::Live(absl::string_view node) const {
  const auto found = nodes_.find(std::string(node));
  return found == nodes_.end() ? nullptr : found->second;
}

clients::NodeClient* NodeRegistry::ForBundle(absl::string_view node, std::size_t attempt) const {
  if (attempt >= bundle_readers_.size()) return nullptr;
  return bundle_readers_[(StableHash(node) + attempt) % bundle_readers_.size()];
}

std::vector<std::string> NodeRegistry::LiveNodes() const {
  std::vector<std::string> names;
  names.reserve(nodes_.size());
  for (const auto& [name, client] : nodes_) names.push_back(name);
  return names;
}

}  // namespace galen::execution
