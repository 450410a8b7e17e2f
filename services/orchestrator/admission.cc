#include "services/orchestrator/admission.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/strip.h"

namespace galen::orchestrator {

absl::string_view Admission::TenantOf(absl::string_view name) {
  return name.substr(0, name.find("/diagnoses/"));
}

void Admission::DropIfIdle(absl::string_view tenant) {
  const auto it = tenants_.find(tenant);
  if (it != tenants_.end() && it->second.running == 0 && it->second.waiting.empty()) {
    tenants_.erase(it);
  }
}

bool Admission::IsFull(absl::string_view tenant) const {
  const auto it = tenants_.find(tenant);
  return it != tenants_.end() && it->second.waiting.size() >= limits_.tenant_waiting;
}

std::vector<Admission::Turns> Admission::AllTurns() const {
  std::vector<Turns> all;
  all.reserve(tenants_.size());
  for (const auto& [name, tenant] : tenants_) {
    all.push_back(
        {std::string(absl::StripPrefix(name, "tenants/")), tenant.running, tenant.waiting.size()});
  }
  return all;
}

bool Admission::HasWaiting() const { return !waiting_.empty(); }

void Admission::Wait(const std::string& name) {
  if (running_.count(name) > 0 || !waiting_.insert(name).second) return;
  tenants_[std::string(TenantOf(name))].waiting.push_back({name, look_});
}

std::optional<std::string> Admission::Next() {
  if (running_.size() >= limits_.running || waiting_.empty()) return std::nullopt;
  auto best = tenants_.end();
  // Once around, from the tenant after the last one.
  auto it = tenants_.upper_bound(last_);
  for (std::size_t i = 0; i < tenants_.size(); ++i, ++it) {
    if (it == tenants_.end()) it = tenants_.begin();
    const Tenant& tenant = it->second;
    if (tenant.waiting.empty() || tenant.running >= limits_.tenant_running) continue;
    if (best == tenants_.end() || tenant.running < best->second.running) best = it;
  }
  if (best == tenants_.end()) return std::nullopt;
  last_ = best->first;
  std::string name = std::move(best->second.waiting.front().name);
  best->second.waiting.pop_front();
  waiting_.erase(name);
  Started(name);
  return name;
}

void Admission::Started(const std::string& name) {
  if (!running_.insert(name).second) return;
  Tenant& tenant = tenants_[std::string(TenantOf(name))];
  ++tenant.running;
  if (waiting_.erase(name) == 0) return;
  const auto it = std::find_if(tenant.waiting.begin(), tenant.waiting.end(),
                               [&name](const Waiting& waiting) { return waiting.name == name; });
  tenant.waiting.erase(it);
}

void Admission::Ended(const std::string& name) {
  if (running_.erase(name) == 0) return;
  --tenants_.find(TenantOf(name))->second.running;
  DropIfIdle(TenantOf(name));
}

void Admission::EndLook(const std::vector<std::string>& orphans) {
  if (waiting_.empty()) return;
  const std::set<absl::string_view> there(orphans.begin(), orphans.end());
  for (auto it = tenants_.begin(); it != tenants_.end();) {
    std::deque<Waiting>& waiting = it->second.waiting;
    std::deque<Waiting> kept;
    for (Waiting& one : waiting) {
      if (one.since >= look_ || there.count(one.name) > 0) {
        kept.push_back(std::move(one));
      } else {
        waiting_.erase(one.name);
      }
    }
    waiting = std::move(kept);
    const std::string tenant = (it++)->first;
    DropIfIdle(tenant);
  }
}

}  // namespace galen::orchestrator
