#ifndef SERVICES_EXECUTION_BACKPRESSURE_H_
#define SERVICES_EXECUTION_BACKPRESSURE_H_

#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"

namespace galen::execution {

// How the reader of a call holds up whoever works for it, so that what waits for a slow reader is
// bounded. Thread-safe.
class Backpressure {
 public:
  // `full`: whether the reader's backlog has reached its limit. The owner calls Resume() some time
  // after it was full.
  explicit Backpressure(std::function<bool()> full) : full_(std::move(full)) {}

  bool full() const { return full_(); }
  void Resume() {
    std::function<void()> resume;
    {
      MutexLock lock(mu_);
      resume = resume_;
    }
    if (resume) resume();
  }
  // Set by the producer that is held up.
  void OnResume(std::function<void()> resume) {
    MutexLock lock(mu_);
    resume_.swap(resume);
  }

 private:
  const std::function<bool()> full_;
  Mutex mu_;
  std::function<void()> resume_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_BACKPRESSURE_H_
