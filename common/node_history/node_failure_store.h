#ifndef COMMON_NODE_HISTORY_NODE_FAILURE_STORE_H_
#define COMMON_NODE_HISTORY_NODE_FAILURE_STORE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/store/records.h"
#include "galen/execution/v1/failures.pb.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::node_history {

// For each node this many of the latest failures are kept.
inline constexpr int kMostFailures = 200;

// The faults that diagnoses found on live machines, by node, in the records of the store: written
// when a diagnosis ends, read by checks of kind `history`. Thread-safe; calls touch the store, and
// their errors are those of store::Records.
class NodeFailureStore {
 public:
  // `records` must outlive it.
  explicit NodeFailureStore(store::Records& records) : records_(records) {}

  // Replaces the records of this diagnosis with its failures (FailuresOf()). Idempotent.
  absl::Status Note(const galen::v1::Diagnosis& diagnosis) const;
  // None: nothing was noted of this node.
  absl::StatusOr<execution::v1::NodeFailures> Of(const std::string& node) const;
  // Whether anything was noted of any node.
  absl::StatusOr<bool> HasAny() const;

 private:
  store::Records& records_;
};

}  // namespace galen::node_history

#endif  // COMMON_NODE_HISTORY_NODE_FAILURE_STORE_H_
