#include "services/orchestrator/fair_share_scheduler.h"

#include <algorithm>

namespace galen::orchestrator {
namespace {

// So many times the diagnoses of another tenant are many.
constexpr std::size_t kMany = 4;

}  // namespace

std::size_t FairShareScheduler::Share() const {
  return std::max<std::size_t>(1, most_ / std::max<std::size_t>(1, active_));
}

void FairShareScheduler::DropIfIdle(absl::string_view tenant) {
  const auto it = tenants_.find(tenant);
  if (it->second.diagnoses == 0 && it->second.under_way == 0 && it->second.waiting.empty()) {
    tenants_.erase(it);
  }
}

bool FairShareScheduler::HasMany(const Tenant& tenant) const {
  return std::any_of(tenants_.begin(), tenants_.end(), [&tenant](const auto& entry) {
    const Tenant& other = entry.second;
    return other.diagnoses > 0 && kMany * other.diagnoses <= tenant.diagnoses;
  });
}

bool FairShareScheduler::IsHeld(const Tenant& tenant, absl::Time now) {
  return priority_.Holds(now) && HasMany(tenant);
}

absl::Duration FairShareScheduler::Register(const std::string& tenant, absl::Time now) {
  if (tenants_[tenant].diagnoses++ > 0) return absl::ZeroDuration();
  ++active_;
  const bool some_have_many = std::any_of(tenants_.begin(), tenants_.end(), [](auto& entry) {
    return entry.second.diagnoses >= kMany;
  });
  return some_have_many ? priority_.Begin(now) : absl::ZeroDuration();
}

void FairShareScheduler::Unregister(const std::string& tenant, absl::Time now) {
  if (--tenants_[tenant].diagnoses == 0) --active_;
  DropIfIdle(tenant);
  const bool for_some = std::any_of(tenants_.begin(), tenants_.end(),
                                    [this](const auto& entry) { return HasMany(entry.second); });
  if (!for_some) priority_.End(now);
}

bool FairShareScheduler::TryAcquire(const std::string& tenant, absl::Time now) {
  Tenant& own = tenants_[tenant];
  if (under_way_ >= most_ || own.under_way >= Share() || IsHeld(own, now)) {
    DropIfIdle(tenant);
    return false;
  }
  ++own.under_way;
  ++under_way_;
  return true;
}

void FairShareScheduler::Release(const std::string& tenant) {
  --tenants_[tenant].under_way;
  --under_way_;
  DropIfIdle(tenant);
}

void FairShareScheduler::Wait(const std::string& tenant, Waiter waiter) {
  tenants_[tenant].waiting.push_back(waiter);
}

std::optional<FairShareScheduler::Waiter> FairShareScheduler::Next(absl::Time now) {
  if (under_way_ >= most_) return std::nullopt;
  auto best = tenants_.end();
  // Once around, from the tenant after the last one.
  auto it = tenants_.upper_bound(last_);
  for (std::size_t i = 0; i < tenants_.size(); ++i, ++it) {
    if (it == tenants_.end()) it = tenants_.begin();
    if (it->second.waiting.empty() || it->second.under_way >= Share() || IsHeld(it->second, now)) {
      continue;
    }
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
