#include "services/execution/late_watch.h"

#include <utility>

namespace galen::execution {

LateWatch::LateWatch(const Clock& clock, absl::Duration every) : clock_(clock), every_(every) {
  if (every_ > absl::ZeroDuration()) thread_ = std::thread([this] { Loop(); });
}

LateWatch::~LateWatch() {
  {
    const std::lock_guard<std::mutex> lock(wake_mu_);
    stopping_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void LateWatch::Add(const std::shared_ptr<NodeCalls>& calls) {
  {
    MutexLock lock(mu_);
    calls_.push_back(calls);
  }
  const std::lock_guard<std::mutex> lock(wake_mu_);
  if (!std::exchange(work_, true)) wake_.notify_all();
}

void LateWatch::Look() {
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
}

void LateWatch::Loop() {
  std::unique_lock<std::mutex> lock(wake_mu_);
  while (true) {
    wake_.wait(lock, [this] { return work_ || stopping_; });
    if (stopping_) return;
    wake_.wait_for(lock, absl::ToChronoMilliseconds(every_), [this] { return stopping_; });
    if (stopping_) return;
    work_ = false;
    lock.unlock();
    Look();
    bool more = false;
    {
      MutexLock guard(mu_);
      more = !calls_.empty();
    }
    lock.lock();
    work_ = work_ || more;
  }
}

}  // namespace galen::execution
