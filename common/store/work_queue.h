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

// Work that is done at least once: an item that a worker took and did not finish goes to another.
// As durable as the event log of the same store. Thread-safe; calls may touch a disk or a network.
// Errors of every method: UNAVAILABLE the store cannot be reached (try again); DATA_LOSS.
class WorkQueue {
 public:
  virtual ~WorkQueue() = default;

  // Appends work. Does nothing while an item of the same key waits or is worked on, so a push may
  // be repeated.
  virtual absl::Status Push(absl::string_view queue, absl::string_view key,
                            absl::string_view payload) = 0;

  // Up to `most` items for `worker`: first those that were taken longer than `abandoned_after` ago,
  // by the store's clock, and neither finished nor kept; then waiting ones, oldest first.
  virtual absl::StatusOr<std::vector<WorkItem>> Take(absl::string_view queue,
                                                     absl::string_view worker, int most,
                                                     absl::Duration abandoned_after) = 0;

  // Reports that the worker still works on the item, and restarts its abandonment timeout.
  // FAILED_PRECONDITION when the item is not, or is no longer, this worker's.
  virtual absl::Status Keep(absl::string_view queue, absl::string_view worker,
                            const WorkItem& item) = 0;

  // Removes a finished item. FAILED_PRECONDITION when the item is not, or is no longer, this
  // worker's; also for a repetition after the item is gone.
  virtual absl::Status Finish(absl::string_view queue, absl::string_view worker,
                              const WorkItem& item) = 0;

  // Items that wait or are worked on.
  virtual absl::StatusOr<std::int64_t> Size(absl::string_view queue) = 0;
};

}  // namespace galen::store

#endif  // COMMON_STORE_WORK_QUEUE_H_
