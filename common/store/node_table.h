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

// The known node executors: each announces itself again before its entry expires. Thread-safe.
// Errors of every method: UNAVAILABLE; DATA_LOSS.
class NodeTable {
 public:
  virtual ~NodeTable() = default;

  // Stores all of `entries` at once; each replaces that node's earlier one.
  virtual absl::Status Announce(const std::vector<NodeEntry>& entries) = 0;
  virtual absl::Status Withdraw(absl::string_view name) = 0;
  // Entries that have not expired at `now`, by name.
  virtual absl::StatusOr<std::vector<NodeEntry>> List(absl::Time now) = 0;
  // Removes entries that have expired at `now`, and returns their number.
  virtual absl::StatusOr<std::int64_t> Sweep(absl::Time now) = 0;
};

}  // namespace galen::store

#endif  // COMMON_STORE_NODE_TABLE_H_
