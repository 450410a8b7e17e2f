#ifndef SERVICES_EXECUTION_REPAIRS_DRY_RUNS_H_
#define SERVICES_EXECUTION_REPAIRS_DRY_RUNS_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/clients/call.h"
#include "common/remediation/run_action.h"
#include "galen/execution/v1/execution.pb.h"
#include "galen/node/v1/node.pb.h"
#include "galen/v1/evidence.pb.h"

namespace galen::execution {

// Asks a node's executor what it would do, and runs the action's checks on the target. The request
// to the executor is always a dry run without a warrant, so it cannot change anything. Blocks no
// thread. Thread-safe.
class DryRuns {
 public:
  // Whether a diagnosis is shown that node.
  using Sees = std::function<bool(const std::string& diagnosis, const std::string& node)>;
  // Asks a node's executor; NOT_FOUND: there is none. Returns at once.
  using Ask =
      std::function<void(const std::string& node, const node::v1::RepairRequest& request,
                         absl::Time deadline, clients::Done<node::v1::RepairResponse> done)>;
  // Runs checks on the node and gives what they said by the deadline. Returns at once.
  using Check = std::function<void(
      const std::string& node, const std::vector<std::string>& checks, absl::Time deadline,
      absl::AnyInvocable<void(std::vector<galen::v1::CheckResult>) &&> done)>;
  struct Options {
    // Time limits of the executor and of the checks, which run one after the other.
    absl::Duration node_time = absl::Seconds(15);
    absl::Duration check_time = absl::Seconds(30);
    int at_once = 16;
  };

  // `known`: what is carried out here. All must outlive it, and it every call in flight.
  DryRuns(std::vector<remediation::RunAction> known, const Clock& clock, Sees sees, Ask ask,
          Check check, Options options);

  // See ExecutionService.DryRunRepair. `deadline` is on the clock's scale; node and checks end in
  // time for an answer before it. `done` may be called before it returns.
  void Start(const v1::DryRunRepairRequest& request, absl::Time deadline,
             clients::Done<galen::v1::DryRun> done);

 private:
  // A dry run under way, which needs nothing of this object any more.
  struct Run;
  static void Answered(const std::shared_ptr<Run>& run,
                       absl::StatusOr<node::v1::RepairResponse> answer);

  const std::vector<remediation::RunAction> known_;
  const Clock& clock_;
  const Sees sees_;
  const Ask ask_;
  const Check check_;
  const Options options_;
  const std::shared_ptr<std::atomic<int>> under_way_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_REPAIRS_DRY_RUNS_H_
