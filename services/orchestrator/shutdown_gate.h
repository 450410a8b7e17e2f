#ifndef SERVICES_ORCHESTRATOR_SHUTDOWN_GATE_H_
#define SERVICES_ORCHESTRATOR_SHUTDOWN_GATE_H_

#include <condition_variable>

#include "common/base/mutex.h"

namespace galen::orchestrator {

// Lets tasks of other threads in until it closes: after Close() has returned, none is inside and
// none gets in. Thread-safe.
class ShutdownGate {
 public:
  // Held while a task is inside; false when the gate was closed already.
  class Guard {
   public:
    explicit Guard(ShutdownGate& gate) : gate_(gate), inside_(gate.Enter()) {}
    ~Guard() {
      if (inside_) gate_.Leave();
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    explicit operator bool() const { return inside_; }

   private:
    ShutdownGate& gate_;
    const bool inside_;
  };

  // Waits for those inside. Not to be called by one of them.
  void Close() {
    MutexLock lock(mu_);
    closed_ = true;
    while (inside_ > 0) mu_.Wait(left_);
  }

 private:
  bool Enter() {
    MutexLock lock(mu_);
    if (!closed_) ++inside_;
    return !closed_;
  }
  void Leave() {
    MutexLock lock(mu_);
    if (--inside_ == 0) left_.notify_all();
  }

  Mutex mu_;
  std::condition_variable left_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  int inside_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_SHUTDOWN_GATE_H_
