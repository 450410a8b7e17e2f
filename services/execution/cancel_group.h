#ifndef SERVICES_EXECUTION_CANCEL_GROUP_H_
#define SERVICES_EXECUTION_CANCEL_GROUP_H_

#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"
#include "common/clients/call.h"

namespace galen::execution {

// The calls that one call made, to be ended with it. Thread-safe.
class CancelGroup {
 public:
  // A call that is added after CancelAll() is cancelled at once.
  void Add(clients::Cancel cancel) {
    {
      MutexLock lock(mu_);
      if (!cancelled_) {
        cancels_.push_back(std::move(cancel));
        return;
      }
    }
    cancel();
  }

  void CancelAll() {
    std::vector<clients::Cancel> cancels;
    {
      MutexLock lock(mu_);
      cancelled_ = true;
      cancels.swap(cancels_);
    }
    for (const clients::Cancel& cancel : cancels) cancel();
  }

  bool cancelled() {
    MutexLock lock(mu_);
    return cancelled_;
  }

 private:
  Mutex mu_;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<clients::Cancel> cancels_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_CANCEL_GROUP_H_
