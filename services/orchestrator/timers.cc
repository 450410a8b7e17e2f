#include "services/orchestrator/timers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/time/clock.h"

namespace galen::orchestrator {

void Timers::At(absl::Time when, absl::AnyInvocable<void() &&> action) {
  {
    const std::lock_guard<std::mutex> lock(mu_);
    if (stopping_) return;
    actions_.emplace(when, std::move(action));
  }
  changed_.notify_one();
}

void Timers::RunDue(absl::Time now) {
  std::vector<absl::AnyInvocable<void() &&>> due;
  {
    const std::lock_guard<std::mutex> lock(mu_);
    const auto end = actions_.upper_bound(now);
    for (auto it = actions_.begin(); it != end; ++it) due.push_back(std::move(it->second));
    actions_.erase(actions_.begin(), end);
  }
  for (absl::AnyInvocable<void() &&>& action : due) std::move(action)();
}

void Timers::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void Timers::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mu_);
    stopping_ = true;
    actions_.clear();
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Timers::Loop() {
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mu_);
      if (stopping_) return;
      const absl::Time now = absl::Now();
      // At most a minute, so that a clock that was set does not leave an action behind for ever.
      const absl::Time next = actions_.empty() ? absl::InfiniteFuture() : actions_.begin()->first;
      if (next > now) {
        changed_.wait_until(lock, absl::ToChronoTime(std::min(next, now + absl::Minutes(1))));
        continue;
      }
    }
    RunDue(absl::Now());
  }
}

}  // namespace galen::orchestrator
