#ifndef SERVICES_EXECUTION_HISTORY_CHECKS_H_
#define SERVICES_EXECUTION_HISTORY_CHECKS_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/executor.h"
#include "common/clients/call.h"
#include "common/knowledge/knowledge.h"
#include "common/knowledge/make_result.h"
#include "common/node_history/failures.h"
#include "common/node_history/node_failure_store.h"
#include "galen/execution/v1/execution.pb.h"
#include "galen/v1/evidence.pb.h"

namespace galen::execution {

// The window that a check of kind `history` counts, from its data `days` and `hours_apart`, for a
// failure that is examined at `now`; for a failure reported with an earlier time, the window ends
// at that time. INTERNAL: the knowledge lacks one of the two, which lint reports. Pure.
absl::StatusOr<node_history::Window> WindowOf(const knowledge::v1::Check& check,
                                              const v1::RunChecksRequest& request, absl::Time now);

// The findings that `check` declares for these counts: failures_same_node, and failures_same_device
// for each device. Without a recorded failure there is no finding: Galen may not have been asked
// about one. Pure.
knowledge::CheckOutput OutputOf(const knowledge::v1::Check& check, const std::string& node,
                                const node_history::Counts& counts, absl::Duration back);

// Checks of kind `history`: what earlier diagnoses found on the same live machines. The store is
// asked, and no node. Thread-safe.
class HistoryChecks {
 public:
  // Both must outlive it.
  HistoryChecks(const node_history::NodeFailureStore& failure_store, const Clock& clock);
  // Waits for what runs.
  ~HistoryChecks();

  using OnResult = std::function<void(const std::string& node, galen::v1::CheckResult result)>;
  using OnNodeDone = std::function<void(const std::string& node, absl::Status status)>;

  // A result for each check that a node owes, then `on_node_done`, once for each node, from another
  // thread. SKIPPED where nothing is on record yet, or the machines are those of a bundle; ERROR
  // where the store cannot tell. `deadline` is on the clock's scale.
  clients::Cancel Run(std::shared_ptr<const knowledge::Knowledge> knowledge,
                      const v1::RunChecksRequest& request,
                      std::map<std::string, std::set<std::string>> owed, absl::Time deadline,
                      OnResult on_result, OnNodeDone on_node_done);

 private:
  const node_history::NodeFailureStore& failure_store_;
  const Clock& clock_;
  std::unique_ptr<ThreadPool> pool_;
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_HISTORY_CHECKS_H_
