#ifndef SERVICES_EXECUTION_NODE_BREAKER_H_
#define SERVICES_EXECUTION_NODE_BREAKER_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"

namespace galen::execution {

// Remembers which nodes did not answer, so that a dead node delays one call and not every call of
// a diagnosis. Thread-safe.
class NodeBreaker {
 public:
  // A node that did not answer is not asked again for `pause`.
  explicit NodeBreaker(absl::Duration pause) : pause_(pause) {}

  // How a call to the node ended at `now`. Only silence counts (UNAVAILABLE, DEADLINE_EXCEEDED): a
  // node that answers with an error is alive.
  void Record(const std::string& node, const absl::Status& status, absl::Time now);

  // OK to ask the node at `now`, or the error of the call that it did not answer.
  absl::Status Allow(const std::string& node, absl::Time now) const;
  // Whether all nodes answered when they were asked last.
  bool quiet() const {
    MutexLock lock(mu_);
    return silent_.empty();
  }
  // Nodes that are not asked at `now`.
  std::size_t SilentAt(absl::Time now) const;

 private:
  struct Silence {
    absl::Time since;
    absl::Status status;
  };
  const absl::Duration pause_;
  mutable Mutex mu_;
  std::map<std::string, Silence> silent_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_NODE_BREAKER_H_
