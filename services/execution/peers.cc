#include "services/execution/peers.h"

#include <algorithm>
#include <utility>

namespace galen::execution {

void Peers::Use(const std::string& self, std::vector<std::string> replicas) {
  if (std::find(replicas.begin(), replicas.end(), self) == replicas.end()) replicas.push_back(self);
  auto division =
      std::make_shared<const Division>(Division{self, HashRing(replicas), replicas.size() == 1});
  MutexLock lock(mu_);
  division_.swap(division);
}

std::map<std::string, std::vector<std::string>> Peers::Divide(
    std::vector<std::string> nodes) const {
  std::shared_ptr<const Division> division;
  {
    MutexLock lock(mu_);
    division = division_;
  }
  std::map<std::string, std::vector<std::string>> shares;
  if (division == nullptr || division->alone) {
    shares[""] = std::move(nodes);
    return shares;
  }
  for (std::string& node : nodes) {
    const std::string& owner = division->ring.OwnerOf(node);
    shares[owner == division->self ? "" : owner].push_back(std::move(node));
  }
  return shares;
}

}  // namespace galen::execution
