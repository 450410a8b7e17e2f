#ifndef SERVICES_NODE_STUCK_CHECKS_H_
#define SERVICES_NODE_STUCK_CHECKS_H_

#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"

namespace galen::node {

// The checks that were given up and still run, over all calls. Thread-safe.
class StuckChecks {
 public:
  // `live`: it looks at this machine, not at a bundle. `late`: it had all of its time; one whose
  // caller went away may only need a moment to notice.
  void Add(const std::string& check, bool live, bool late) { Count(check, live, late, 1); }
  void Remove(const std::string& check, bool live, bool late) { Count(check, live, late, -1); }

  // True when to begin it again on this machine would only leave one more thread behind.
  bool Hangs(const std::string& check) const {
    const MutexLock lock(mu_);
    const auto found = live_.find(check);
    return found != live_.end() && (found->second.late > 0 || found->second.all >= kMostOfOne);
  }
  int of_bundles() const {
    const MutexLock lock(mu_);
    return of_bundles_;
  }
  int total() const {
    const MutexLock lock(mu_);
    return total_;
  }

 private:
  // Runs of one check whose callers went away, before it is taken for stuck.
  static constexpr int kMostOfOne = 4;

  struct Runs {
    int all = 0;
    int late = 0;
  };

  void Count(const std::string& check, bool live, bool late, int by) {
    const MutexLock lock(mu_);
    total_ += by;
    if (!live) {
      of_bundles_ += by;
      return;
    }
    Runs& runs = live_[check];
    runs.all += by;
    if (late) runs.late += by;
    if (runs.all == 0) live_.erase(check);
  }

  mutable Mutex mu_;
  int total_ ABSL_GUARDED_BY(mu_) = 0;
  int of_bundles_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::string, Runs> live_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::node

#endif  // SERVICES_NODE_STUCK_CHECKS_H_
