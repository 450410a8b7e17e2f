#ifndef COMMON_BASE_CANCELLATION_H_
#define COMMON_BASE_CANCELLATION_H_

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "absl/time/time.h"

namespace galen {

// A request to stop, made once and never taken back. Thread-safe.
class Cancellation {
 public:
  void Cancel() {
    {
      const std::lock_guard<std::mutex> lock(mu_);
      cancelled_ = true;
    }
    changed_.notify_all();
  }

  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }

  // Sleeps for `duration`, or until it is cancelled. True when it is.
  bool SleepFor(absl::Duration duration) const {
    std::unique_lock<std::mutex> lock(mu_);
    return changed_.wait_for(lock, absl::ToChronoNanoseconds(duration),
                             [this] { return cancelled(); });
  }

  // One that nobody cancels.
  static const Cancellation& Never() {
    static const Cancellation never;
    return never;
  }

 private:
  std::atomic<bool> cancelled_{false};
  mutable std::mutex mu_;
  mutable std::condition_variable changed_;
};

}  // namespace galen

#endif  // COMMON_BASE_CANCELLATION_H_
