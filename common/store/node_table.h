#ifndef COMMON_STORE_NODE_TABLE_H_
#define COMMON_STORE_NODE_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace galen::store {

// A node executor that announced itself.
struct NodeEntry {
  std::string name;
  std::string record;  // what its users agreed on, e.g. its address
  absl::Time expires;
};

// The node executors that are there: each announces itself again before its time is over.
// Thread-safe. Errors of every method: UNAVAILABLE; DATA_LOSS.
class NodeTable {
 public:
  virtual ~NodeTable() = default;

  // All of `entries` in one go, each in place of what that node announced before.
  virtual absl::Status Announce(const std::vector<NodeEntry>& entries) = 0;
  virtual absl::Status Withdraw(absl::string_view name) = 0;
  // Those whose time is not over at `now`, by name.
  virtual absl::StatusOr<std::vector<NodeEntry>> List(absl::Time now) = 0;
  // Forgets those whose time is over at `now`, and says how many there were.
  virtual absl::StatusOr<std::int64_t> Sweep(absl::Time now) = 0;
};

}  // namespace galen::store

#endif  // COMMON_STORE_NODE_TABLE_H_
