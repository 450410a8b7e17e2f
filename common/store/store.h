#ifndef COMMON_STORE_STORE_H_
#define COMMON_STORE_STORE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/store/event_log.h"
#include "common/store/journal.h"
#include "common/store/key_value.h"
#include "common/store/node_table.h"
#include "common/store/rate_limits.h"
#include "common/store/records.h"
#include "common/store/work_queue.h"

namespace galen::store {

// All stored data of the mesh. Its parts are thread-safe and live as long as it does.
class Store {
 public:
  virtual ~Store() = default;

  virtual EventLog& events() = 0;
  virtual WorkQueue& work() = 0;
  virtual KeyValue& values() = 0;
  virtual RateLimits& rates() = 0;
  virtual NodeTable& nodes() = 0;
  virtual Journal& journal() = 0;
  virtual Records& records() = 0;

  // Its location, without secrets.
  virtual std::string Describe() const = 0;
  // True when many processes on many machines may share it.
  virtual bool IsShared() const = 0;
  // Settings found on opening that make it less durable than it could be, one sentence each.
  virtual const std::vector<std::string>& warnings() const = 0;
};

// Opens what --store names: a Redis URL (docs/store.md), else an SQLite file, which is created when
// there is none; ":memory:" lives as long as the object. INVALID_ARGUMENT the URL; UNAVAILABLE,
// PERMISSION_DENIED, FAILED_PRECONDITION the server; UNAVAILABLE, DATA_LOSS the file.
absl::StatusOr<std::unique_ptr<Store>> OpenStore(absl::string_view where);

// The store that --store names, without secrets, for messages and names of owners; touches no file
// or server.
std::string DescribeStore(absl::string_view where);
bool IsSharedStore(absl::string_view where);

}  // namespace galen::store

#endif  // COMMON_STORE_STORE_H_
