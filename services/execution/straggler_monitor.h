#ifndef SERVICES_EXECUTION_STRAGGLER_MONITOR_H_
#define SERVICES_EXECUTION_STRAGGLER_MONITOR_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/periodic_task.h"
#include "services/execution/node_calls.h"

namespace galen::execution {

// Looks now and then for late calls to nodes, while there are any. Thread-safe.
class StragglerMonitor {
 public:
  // `clock` must outlive the watch. `every` zero: nobody looks but who calls Look().
  StragglerMonitor(const Clock& clock, absl::Duration every);

  // Until they are gone.
  void Add(const std::shared_ptr<NodeCalls>& calls);
  // Whether any are left.
  bool Look();

 private:
  const Clock& clock_;
  Mutex mu_;
  std::vector<std::weak_ptr<NodeCalls>> calls_ ABSL_GUARDED_BY(mu_);

  std::optional<PeriodicTask> task_;
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_STRAGGLER_MONITOR_H_
