#include "services/orchestrator/recent_events.h"

#include <algorithm>
#include <utility>

namespace galen::orchestrator {

void RecentEvents::Drop(absl::string_view name) {
  const auto it = logs_.find(name);
  if (it == logs_.end()) return;
  bytes_ -= it->second.bytes;
  by_age_.erase(it->second.age);
  logs_.erase(it);
}

void RecentEvents::Add(const std::string& name, std::vector<v1::DiagnosisEvent> events) {
  if (events.empty()) return;
  std::size_t bytes = 0;
  for (const v1::DiagnosisEvent& event : events) bytes += event.ByteSizeLong();
  MutexLock lock(mu_);
  if (const auto it = logs_.find(name);
      it != logs_.end() && it->second.events.back().sequence() + 1 != events.front().sequence()) {
    Drop(name);
  }
  if (bytes > most_bytes_) return Drop(name);
  const auto [it, is_new] = logs_.try_emplace(name);
  Log& log = it->second;
  if (is_new) {
    log.age = by_age_.insert(by_age_.end(), name);
  } else {
    by_age_.splice(by_age_.end(), by_age_, log.age);
  }
  for (v1::DiagnosisEvent& event : events) log.events.push_back(std::move(event));
  log.bytes += bytes;
  bytes_ += bytes;
  while (bytes_ > most_bytes_) Drop(std::string(by_age_.front()));
}

void RecentEvents::EndsWith(absl::string_view name, std::int64_t last_sequence) {
  MutexLock lock(mu_);
  const auto it = logs_.find(name);
  if (it != logs_.end() && it->second.events.back().sequence() != last_sequence) Drop(name);
}

void RecentEvents::Forget(absl::string_view name) {
  MutexLock lock(mu_);
  Drop(name);
}

std::optional<std::vector<v1::DiagnosisEvent>> RecentEvents::After(absl::string_view name,
                                                                   std::int64_t after_sequence,
                                                                   std::size_t limit) {
  MutexLock lock(mu_);
  const auto it = logs_.find(name);
  if (it == logs_.end()) return std::nullopt;
  const std::deque<v1::DiagnosisEvent>& events = it->second.events;
  const std::int64_t skip = after_sequence + 1 - events.front().sequence();
  if (skip < 0 || skip > static_cast<std::int64_t>(events.size())) return std::nullopt;
  const auto begin = events.begin() + skip;
  const auto left = static_cast<std::size_t>(events.end() - begin);
  return std::vector<v1::DiagnosisEvent>(
      begin, begin + static_cast<std::ptrdiff_t>(std::min(left, limit)));
}

}  // namespace galen::orchestrator
