#include "services/execution/peers.h"

#include <algorithm>
#include <utility>

namespace galen::execution {

void Peers::Use(const std::string& self, std::vector<std::string> replicas) {
  if (std::find(replicas.begin(), replicas.end(), self) == replicas.end()) replicas.push_back(self);
  auto division = std::make_shared<const Division>(Division{self, HashRing(replicas)});
  MutexLock lock(mu_);
  division_.swap(division);
}

std::map<std::string, std::vector<std::string>> Peers::Divide(
    const std::vector<std::string>& nodes) const {
  std::shared_ptr<const Division> division;
  {
    MutexLock lock(mu_);
    division = division_;
  }
  std::map<std::string, std::vector<std::string>> shares;
  for (const std::string& node : nodes) {
    const std::string owner = division == nullptr ? "" : division->ring.OwnerOf(node);
    shares[division == nullptr || owner == division->self ? "" : owner].push_back(node);
  }
  return shares;
}

}  // namespace galen::execution
