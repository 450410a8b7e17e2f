#ifndef COMMON_HOST_STUCK_READS_H_
#define COMMON_HOST_STUCK_READS_H_

#include <map>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"

namespace galen::host {

// The reads of one machine that timed out and still block, each on a separate thread that cannot be
// ended. All hosts of the same machine share one object, otherwise the limit would have no effect.
// Thread-safe.
class StuckReads {
 public:
  // Each kind has a separate limit: a dead file system of a job, or of the search path, must not
  // block access to the machine's own files.
  enum class Kind { kMachine, kJob, kProgram };

  // `most` reads of a kind may be stuck.
  explicit StuckReads(int most) : most_(most) {}

  int most() const { return most_; }
  bool IsFull(Kind kind) const {
    const MutexLock lock(mu_);
    const auto found = keys_.find(kind);
    return static_cast<int>(found == keys_.end() ? 0 : found->second.size()) >= most_;
  }
  bool Holds(Kind kind, const std::string& key) const {
    const MutexLock lock(mu_);
    const auto found = keys_.find(kind);
    return found != keys_.end() && found->second.contains(key);
  }
  void Add(Kind kind, const std::string& key) {
    const MutexLock lock(mu_);
    keys_[kind].insert(key);
  }
  void Remove(Kind kind, const std::string& key) {
    const MutexLock lock(mu_);
    std::multiset<std::string>& keys = keys_[kind];
    // Only one entry: two reads of the same path may have started before either timed out.
    if (const auto found = keys.find(key); found != keys.end()) keys.erase(found);
  }

 private:
  const int most_;
  mutable Mutex mu_;
  std::map<Kind, std::multiset<std::string>> keys_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::host

#endif  // COMMON_HOST_STUCK_READS_H_
