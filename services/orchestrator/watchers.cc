#include "services/orchestrator/watchers.h"

namespace galen::orchestrator {

void EndWatch(Watcher watcher) {
  std::move(watcher.on_events)(
      absl::UnavailableError("this orchestrator shuts down: watch again elsewhere"));
}

bool Watchers::Add(std::int64_t ticket, Watcher& watcher) {
  MutexLock lock(mu_);
  if (closed_) return false;
  by_name_.emplace(watcher.name, ticket);
  waiting_.emplace(ticket, std::move(watcher));
  return true;
}

std::optional<Watcher> Watchers::Take(std::int64_t ticket) {
  MutexLock lock(mu_);
  const auto it = waiting_.find(ticket);
  if (it == waiting_.end()) return std::nullopt;
  Watcher watcher = std::move(it->second);
  waiting_.erase(it);
  for (auto [named, end] = by_name_.equal_range(watcher.name); named != end; ++named) {
    if (named->second == ticket) {
      by_name_.erase(named);
      break;
    }
  }
  return watcher;
}

std::vector<std::pair<std::int64_t, Watcher>> Watchers::TakeAll(absl::string_view name) {
  MutexLock lock(mu_);
  std::vector<std::pair<std::int64_t, Watcher>> taken;
  const auto [begin, end] = by_name_.equal_range(name);
  for (auto named = begin; named != end; ++named) {
    const auto it = waiting_.find(named->second);
    taken.emplace_back(it->first, std::move(it->second));
    waiting_.erase(it);
  }
  by_name_.erase(begin, end);
  return taken;
}

std::vector<std::string> Watchers::Names() {
  MutexLock lock(mu_);
  std::vector<std::string> names;
  for (const auto& [name, ticket] : by_name_) {
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

std::vector<Watcher> Watchers::Close() {
  MutexLock lock(mu_);
  closed_ = true;
  std::vector<Watcher> all;
  for (auto& [ticket, watcher] : waiting_) all.push_back(std::move(watcher));
  waiting_.clear();
  by_name_.clear();
  return all;
}

std::int64_t Watchers::NewTicket() {
  MutexLock lock(mu_);
  return ++last_ticket_;
}

}  // namespace galen::orchestrator
