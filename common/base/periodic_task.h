#ifndef COMMON_BASE_PERIODIC_TASK_H_
#define COMMON_BASE_PERIODIC_TASK_H_

#include <condition_variable>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"

namespace galen {

// Calls `work` again and again on a thread of its own; each call gives the pause before the next
// one. Declare it after what `work` uses: its end waits for a call under way.
class PeriodicTask {
 public:
  explicit PeriodicTask(std::function<absl::Duration()> work,
                        absl::Duration first_pause = absl::ZeroDuration());
  ~PeriodicTask() { Stop(); }
  PeriodicTask(const PeriodicTask&) = delete;
  PeriodicTask& operator=(const PeriodicTask&) = delete;

  // Ends the pause; during a call the one that follows. Thread-safe.
  void Wake();
  // Begins no further call. Thread-safe.
  void Halt();
  // The same, and waits for one under way.
  void Stop();
  // Whether a call had better come to an end. Thread-safe.
  bool stopping() const;

 private:
  void Run(absl::Duration pause);

  const std::function<absl::Duration()> work_;
  mutable Mutex mu_;
  std::condition_variable changed_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool woken_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace galen

#endif  // COMMON_BASE_PERIODIC_TASK_H_
