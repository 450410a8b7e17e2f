#ifndef SERVICES_EXECUTION_REPAIRS_REPAIR_LOOP_H_
#define SERVICES_EXECUTION_REPAIRS_REPAIR_LOOP_H_

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"
#include "common/base/clock.h"
#include "common/remediation/approval_store.h"
#include "common/remediation/repair_circuit_breaker.h"
#include "common/remediation/run_action.h"
#include "galen/node/v1/node.pb.h"
#include "galen/v1/evidence.pb.h"

namespace galen::execution {

// Runs approved repairs on the node executors: takes each approval once, sends it to its node with
// the approver's warrant, runs the checks that show whether it helped, and records the outcome.
// Begins none that the repair circuit breaker forbids. Any number of replicas may run at once, and
// another one continues after a crash: the node's executor does nothing twice. The destructor stops
// the loop and leaves actions under way to the next replica.
class RepairLoop {
 public:
  struct Asked {
    bool sent = true;  // the request may have come to the node, answered or not
    absl::StatusOr<node::v1::RepairResponse> answer;
  };
  // Blocks until the answer, the deadline or the cancellation.
  using Ask = std::function<Asked(const std::string& node, const node::v1::RepairRequest& request,
                                  absl::Duration time, const Cancellation& cancelled)>;
  using Check = std::function<std::vector<galen::v1::CheckResult>(
      const std::string& node, const std::vector<std::string>& checks,
      const Cancellation& cancelled)>;
  struct Options {
    absl::Duration every = absl::Seconds(2);
    // How long one that was begun is tried while its node cannot be reached.
    absl::Duration patience = absl::Minutes(15);
    // Between two looks whether it helped.
    absl::Duration look = absl::Seconds(5);
    int at_once = 2;
    std::function<void(const std::string&)> tell;
  };
  // `approvals`, `breaker` and `clock` must outlive it.
  RepairLoop(remediation::ApprovalStore& approvals, remediation::RepairCircuitBreaker& breaker,
             std::vector<remediation::RunAction> known, const Clock& clock, Ask ask, Check check,
             Options options);
  ~RepairLoop();
  RepairLoop(const RepairLoop&) = delete;
  RepairLoop& operator=(const RepairLoop&) = delete;

 private:
  struct Outcome {
    bool began = false;  // else nothing was done to the node
    bool succeeded = false;
    std::string text;
  };
  void Loop();
  absl::Status Round();
  // Runs the action in a thread of its own, unless it runs already or the limit is reached.
  void Start(const galen::v1::Action& action);
  void Join(bool all);
  // The action's temporary error; it is tried again in the next round.
  absl::Status Serve(const galen::v1::Action& action);
  // The outcome when the node is given up.
  Outcome GivenUp(const galen::v1::Action& action, const absl::Status& why);
  absl::StatusOr<Outcome> Do(const galen::v1::Action& action, const remediation::RunAction& how);
  Outcome Verify(const galen::v1::Action& action, const remediation::RunAction& how,
                 std::string before);
  void Tell(const std::string& news) const;
  // Says it when it is another than last time.
  void TellChange(const std::string& of, const std::string& news);

  remediation::ApprovalStore& approvals_;
  remediation::RepairCircuitBreaker& breaker_;
  const std::vector<remediation::RunAction> known_;
  const Clock& clock_;
  const Ask ask_;
  const Check check_;
  const Options options_;
  Cancellation cancellation_;

  struct Running {
    std::thread thread;
    bool ended = false;
  };
  std::mutex mu_;
  std::map<std::string, Running> running_;   // by name of action
  std::map<std::string, std::string> told_;  // last reported obstacle, by action
  // Taken here and never sent to the node. Any other action that began may have changed the node.
  std::set<std::string> unsent_;
  std::thread thread_;
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_REPAIRS_REPAIR_LOOP_H_
