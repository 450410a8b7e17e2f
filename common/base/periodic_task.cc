#include "common/base/periodic_task.h"

#include <utility>

#include "common/base/steady.h"

namespace galen {

PeriodicTask::PeriodicTask(std::function<absl::Duration()> work, absl::Duration first_pause)
    : work_(std::move(work)), thread_([this, first_pause] { Run(first_pause); }) {}

void PeriodicTask::Wake() {
  const MutexLock lock(mu_);
  woken_ = true;
  changed_.notify_all();
}

void PeriodicTask::Halt() {
  const MutexLock lock(mu_);
  stopping_ = true;
  changed_.notify_all();
}

void PeriodicTask::Stop() {
  Halt();
  if (thread_.joinable()) thread_.join();
}

bool PeriodicTask::stopping() const {
  const MutexLock lock(mu_);
  return stopping_;
}

void PeriodicTask::Run(absl::Duration pause) {
  for (;;) {
    {
      const MutexLock lock(mu_);
      const absl::Time until = SteadyNow() + pause;
      for (absl::Duration left = pause; left > absl::ZeroDuration() && !stopping_ && !woken_;
           left = until - SteadyNow()) {
        mu_.WaitFor(changed_, left);
      }
      if (stopping_) return;
      woken_ = false;
    }
    pause = work_();
  }
}

}  // namespace galen
