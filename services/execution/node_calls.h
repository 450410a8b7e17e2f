#ifndef SERVICES_EXECUTION_NODE_CALLS_H_
#define SERVICES_EXECUTION_NODE_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"

namespace galen::execution {

// Nodes that are asked in one call.
struct Batch {
  std::vector<std::string> nodes;  // sorted
  std::set<std::string> checks;
  std::string replica;  // that asks them; "": this one
};

// Begins the calls of one RunChecks, so many at a time and none while its reader is behind. A
// call that takes long is late: it no longer keeps others from beginning. Knows nothing of what a
// call is. Thread-safe; made with std::make_shared.
class NodeCalls : public std::enable_shared_from_this<NodeCalls> {
 public:
  struct Limits {
    // Under way and not late: calls, each perhaps a connection, and the nodes that they ask, each
    // of which may answer at any moment.
    std::size_t calls = 1024;
    std::size_t nodes = 8192;
    // Late nodes beyond this keep others from beginning after all.
    std::size_t late_nodes = 8192;
    // A call is late after this time.
    absl::Duration late_after = absl::Seconds(2);
  };
  // Ends a call. `again`: batches that are to be asked next, instead of what the call did not give.
  using Ended = std::function<void(std::vector<Batch> again)>;
  // Begins a call; it calls `ended` exactly once, at once or later, on any thread. After Cancel()
  // too: it then should end at once.
  using Start = std::function<void(const Batch& batch, Ended ended)>;

  // `late` is called once for each batch that is late. `now`: on the scale of Look(). `full`: while
  // it holds, no call begins, and Resume() is called after it ends; may be empty.
  NodeCalls(Limits limits, std::function<absl::Time()> now, Start start,
            std::function<void(const Batch&)> late, std::function<bool()> full = nullptr);

  // Takes all batches and begins. Once only.
  void Begin(std::deque<Batch> batches);
  // Begins what may begin by now.
  void Resume() { Pump(); }
  // Those that wait begin without limit, to be ended.
  void Cancel();
  // Finds those that are late at `now`.
  void Look(absl::Time now);

 private:
  struct Call {
    std::shared_ptr<const Batch> batch;
    absl::Time since;
    bool late = false;
  };
  void Pump();
  void End(std::int64_t id, std::vector<Batch> again);
  bool MayStart() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Limits limits_;
  const std::function<absl::Time()> now_;
  mutable Mutex mu_;
  struct Outside {
    Start start;
    std::function<void(const Batch&)> late;
    std::function<bool()> full;
  };
  // Given up with the last call: what they hold may hold this.
  std::shared_ptr<const Outside> outside_ ABSL_GUARDED_BY(mu_);
  std::deque<Batch> waiting_ ABSL_GUARDED_BY(mu_);
  std::map<std::int64_t, Call> calls_ ABSL_GUARDED_BY(mu_);
  std::int64_t next_id_ ABSL_GUARDED_BY(mu_) = 0;
  std::size_t on_time_calls_ ABSL_GUARDED_BY(mu_) = 0;
  std::size_t on_time_ ABSL_GUARDED_BY(mu_) = 0;  // nodes
  std::size_t too_late_ ABSL_GUARDED_BY(mu_) = 0;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  bool pumping_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_NODE_CALLS_H_
