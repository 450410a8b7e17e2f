#include "services/orchestrator/call_shares.h"

#include <algorithm>

namespace galen::orchestrator {

std::size_t CallShares::Share() const {
  return std::max<std::size_t>(1, most_ / std::max<std::size_t>(1, active_));
}

void CallShares::DropIfIdle(absl::string_view tenant) {
  const auto it = tenants_.find(tenant);
  if (it->second.diagnoses == 0 && it->second.under_way == 0 && it->second.waiting.empty()) {
    tenants_.erase(it);
  }
}

void CallShares::Arrive(const std::string& tenant) {
  if (tenants_[tenant].diagnoses++ == 0) ++active_;
}

void CallShares::Leave(const std::string& tenant) {
  if (--tenants_[tenant].diagnoses == 0) --active_;
  DropIfIdle(tenant);
}

bool CallShares::TryBegin(const std::string& tenant) {
  if (under_way_ >= most_ || tenants_[tenant].under_way >= Share()) {
    DropIfIdle(tenant);
    return false;
  }
  ++tenants_[tenant].under_way;
  ++under_way_;
  return true;
}

void CallShares::Ended(const std::string& tenant) {
  --tenants_[tenant].under_way;
  --under_way_;
  DropIfIdle(tenant);
}

void CallShares::Wait(const std::string& tenant, Waiter waiter) {
  tenants_[tenant].waiting.push_back(waiter);
}

std::optional<CallShares::Waiter> CallShares::Next() {
  if (under_way_ >= most_) return std::nullopt;
  auto best = tenants_.end();
  // Once around, from the tenant after the last one.
  auto it = tenants_.upper_bound(last_);
  for (std::size_t i = 0; i < tenants_.size(); ++i, ++it) {
    if (it == tenants_.end()) it = tenants_.begin();
    if (it->second.waiting.empty() || it->second.under_way >= Share()) continue;
    if (best == tenants_.end() || it->second.under_way < best->second.under_way) best = it;
  }
  if (best == tenants_.end()) return std::nullopt;
  last_ = best->first;
  const Waiter waiter = best->second.waiting.front();
  best->second.waiting.pop_front();
  ++best->second.under_way;
  ++under_way_;
  return waiter;
}

}  // namespace galen::orchestrator
