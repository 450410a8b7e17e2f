#include "common/base/timers.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace galen {

void Timers::After(absl::Duration wait, absl::AnyInvocable<void() &&> action) {
  {
    const std::lock_guard<std::mutex> lock(mu_);
    if (stopping_) return;
    actions_.emplace(Now() + wait, std::move(action));
  }
  changed_.notify_one();
}

void Timers::RunDue() {
  const absl::Time now = Now();
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
  std::multimap<absl::Time, absl::AnyInvocable<void() &&>> dropped;  // without the lock
  {
    const std::lock_guard<std::mutex> lock(mu_);
    stopping_ = true;
    dropped.swap(actions_);
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Timers::Loop() {
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mu_);
      if (stopping_) return;
      const absl::Duration wait =
          actions_.empty() ? absl::Hours(1) : actions_.begin()->first - Now();
      if (wait > absl::ZeroDuration()) {
        // By the steady clock.
        changed_.wait_for(lock, absl::ToChronoNanoseconds(std::min(wait, absl::Hours(1))));
        continue;
      }
    }
    RunDue();
  }
}

}  // namespace galen
