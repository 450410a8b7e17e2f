#ifndef COMMON_STORE_WORK_QUEUE_H_
#define COMMON_STORE_WORK_QUEUE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace galen::store {

// A piece of work as it was handed to a worker.
struct WorkItem {
  std::string key;
  std::string payload;
  std::string ticket;       // names this item to the queue
  std::int64_t deliveries;  // how often it was handed out, this time included
};

// Work that is done at least once: what a worker took and did not finish goes to another. Survives
// what the event log of the same store survives. Thread-safe; calls may touch a disk or a network.
// Errors of every method: UNAVAILABLE the store cannot be reached (try again); DATA_LOSS.
class WorkQueue {
 public:
  virtual ~WorkQueue() = default;

  // Puts work in at the end. The same key while it waits or is worked on changes nothing, so a push
  // may be repeated.
  virtual absl::Status Push(absl::string_view queue, absl::string_view key,
                            absl::string_view payload) = 0;

  // Up to `most` items for `worker`: first what was taken longer than `abandoned_after` ago, by the
  // store's clock, and neither finished nor kept; then what waits, oldest first.
  virtual absl::StatusOr<std::vector<WorkItem>> Take(absl::string_view queue,
                                                     absl::string_view worker, int most,
                                                     absl::Duration abandoned_after) = 0;

  // Still working on it: starts the time of abandonment anew. FAILED_PRECONDITION when the item is
  // not this worker's (any more).
  virtual absl::Status Keep(absl::string_view queue, absl::string_view worker,
                            const WorkItem& item) = 0;

  // Done: takes it out. FAILED_PRECONDITION when the item is not this worker's (any more); a
  // repetition that finds it gone is also that.
  virtual absl::Status Finish(absl::string_view queue, absl::string_view worker,
                              const WorkItem& item) = 0;

  // Items that wait or are worked on.
  virtual absl::StatusOr<std::int64_t> Size(absl::string_view queue) = 0;
};

}  // namespace galen::store

#endif  // COMMON_STORE_WORK_QUEUE_H_
