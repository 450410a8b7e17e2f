#include "services/execution/straggler_monitor.h"

#include <utility>

namespace galen::execution {

StragglerMonitor::StragglerMonitor(const Clock& clock, absl::Duration every) : clock_(clock) {
  if (every <= absl::ZeroDuration()) return;
  task_.emplace([this, every] { return Look() ? every : absl::InfiniteDuration(); });
}

void StragglerMonitor::Add(const std::shared_ptr<NodeCalls>& calls) {
  MutexLock lock(mu_);
  // The task rests while there are none.
  if (calls_.empty() && task_.has_value()) task_->Wake();
  calls_.push_back(calls);
}

bool StragglerMonitor::Look() {
  std::vector<std::shared_ptr<NodeCalls>> live;  // given up without the lock
  {
    MutexLock lock(mu_);
    std::vector<std::weak_ptr<NodeCalls>> kept;
    for (const std::weak_ptr<NodeCalls>& calls : calls_) {
      if (std::shared_ptr<NodeCalls> alive = calls.lock()) {
        live.push_back(std::move(alive));
        kept.push_back(calls);
      }
    }
    calls_.swap(kept);
  }
  const absl::Time now = clock_.Now();
  for (const std::shared_ptr<NodeCalls>& calls : live) calls->Look(now);
  return !live.empty();
}

}  // namespace galen::execution
