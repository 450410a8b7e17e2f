#ifndef SERVICES_EXECUTION_LATE_WATCH_H_
#define SERVICES_EXECUTION_LATE_WATCH_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "services/execution/node_calls.h"

namespace galen::execution {

// Looks now and then for late calls to nodes, while there are any. Thread-safe.
class LateWatch {
 public:
  // `clock` must outlive the watch. `every` zero: nobody looks but who calls Look().
  LateWatch(const Clock& clock, absl::Duration every);
  ~LateWatch();

  // Until they are gone.
  void Add(const std::shared_ptr<NodeCalls>& calls);
  void Look();

 private:
  void Loop();

  const Clock& clock_;
  const absl::Duration every_;
  Mutex mu_;
  std::vector<std::weak_ptr<NodeCalls>> calls_ ABSL_GUARDED_BY(mu_);

  std::mutex wake_mu_;
  std::condition_variable wake_;
  bool work_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_LATE_WATCH_H_
