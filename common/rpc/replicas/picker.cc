#include "common/rpc/replicas/picker.h"

#include <algorithm>
#include <tuple>

namespace galen::rpc {
namespace {

constexpr int kMostChecks = 8;

// The order in which they are taken.
int TierOf(Picker::Health health) {
  switch (health) {
    case Picker::Health::kServing:
      return 0;
    case Picker::Health::kUnknown:
      return 1;
    case Picker::Health::kUnreachable:
    case Picker::Health::kNotServing:
      return 2;
  }
  return 2;
}

}  // namespace

void Picker::Set(const std::vector<std::string>& addresses) {
  std::map<std::string, Replica, std::less<>> now;
  for (const std::string& address : addresses) {
    const auto known = replicas_.find(address);
    now.emplace(address, known == replicas_.end() ? Replica() : known->second);
  }
  replicas_ = std::move(now);
}

std::optional<std::string> Picker::Pick(absl::string_view not_this) {
  const auto key = [](const Replica& replica) {
    return std::tuple(TierOf(replica.health), replica.calls, replica.last_turn);
  };
  auto best = replicas_.end();
  for (auto it = replicas_.begin(); it != replicas_.end(); ++it) {
    if (!not_this.empty() && it->first == not_this) continue;
    if (best == replicas_.end() || key(it->second) < key(best->second)) best = it;
  }
  if (best == replicas_.end()) return std::nullopt;
  best->second.last_turn = ++turn_;
  return best->first;
}

Picker::Ticket Picker::Began(absl::string_view address) {
  const auto it = replicas_.find(address);
  if (it == replicas_.end()) return 0;
  ++it->second.calls;
  return it->second.put_aside;
}

void Picker::Ended(absl::string_view address, Ticket ticket, bool reached) {
  const auto it = replicas_.find(address);
  if (it == replicas_.end()) return;
  Replica& replica = it->second;
  // One that was dropped and found again meanwhile counts from 0.
  replica.calls = std::max<std::int64_t>(replica.calls - 1, 0);
  if (ticket != replica.put_aside) return;
  if (!reached) {
    ++replica.dropped_calls;
    PutAside(replica, Health::kUnreachable);
    return;
  }
  if (replica.health == Health::kUnknown) replica.health = Health::kServing;
  if (replica.health == Health::kServing) replica.dropped_calls = 0;
  // A single replica has no health checks that bring it back.
  if (replica.health == Health::kUnreachable && replicas_.size() == 1) {
    replica.health = Health::kServing;
  }
}

void Picker::PutAside(Replica& replica, Health health) {
  replica.health = health;
  replica.passed_checks = 0;
  ++replica.put_aside;
}

Picker::Ticket Picker::CheckBegan(absl::string_view address) const {
  const auto it = replicas_.find(address);
  return it == replicas_.end() ? 0 : it->second.put_aside;
}

void Picker::CheckEnded(absl::string_view address, Ticket ticket, Health found) {
  const auto it = replicas_.find(address);
  if (it == replicas_.end() || found == Health::kUnknown) return;
  Replica& replica = it->second;
  if (found != Health::kServing) {
    if (TierOf(replica.health) < 2 || replica.health != found) PutAside(replica, found);
    replica.passed_checks = 0;
    return;
  }
  if (ticket != replica.put_aside) return;  // it began before the replica was put aside
  if (TierOf(replica.health) < 2 ||
      ++replica.passed_checks >= std::min(replica.dropped_calls, kMostChecks)) {
    replica.health = Health::kServing;
  }
}

Picker::Health Picker::HealthOf(absl::string_view address) const {
  const auto it = replicas_.find(address);
  return it == replicas_.end() ? Health::kUnknown : it->second.health;
}

bool Picker::AnyAside() const {
  return std::any_of(replicas_.begin(), replicas_.end(),
                     [](const auto& entry) { return TierOf(entry.second.health) == 2; });
}

}  // namespace galen::rpc
