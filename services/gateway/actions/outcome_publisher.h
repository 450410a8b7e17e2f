#ifndef SERVICES_GATEWAY_ACTIONS_OUTCOME_PUBLISHER_H_
#define SERVICES_GATEWAY_ACTIONS_OUTCOME_PUBLISHER_H_

#include <functional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"
#include "common/remediation/approval_store.h"
#include "common/remediation/node_actions.h"
#include "common/remediation/repair_outcome_store.h"
#include "galen/v1/action_service.pb.h"
#include "galen/v1/diagnosis.pb.h"
#include "galen/v1/diagnosis_service.pb.h"

namespace galen::gateway::actions {

// The confirmation that a repair gives: the primary cause was repaired, and a check found the
// machine healthy afterwards. Only for an action that names such checks, and only if nobody else
// has stated the cause. Empty if the repair confirms nothing. Pure.
galen::v1::SubmitFeedbackRequest ConfirmationBy(const galen::v1::Action& action,
                                                const galen::remediation::NodeActions& offered,
                                                const galen::v1::Diagnosis& diagnosis);

// Publishes the outcomes of repairs: to the records that the next approver is shown and, if the
// machine recovered, to the diagnosis as a confirmation of its cause, which after review becomes a
// past incident. Any number of replicas may do so at once: nothing counts twice. Ends with its
// destruction.
class OutcomePublisher {
 public:
  using Read = std::function<absl::StatusOr<galen::v1::Diagnosis>(const std::string& name)>;
  using Submit = std::function<absl::Status(const galen::v1::SubmitFeedbackRequest&)>;
  struct Options {
    absl::Duration every = absl::Seconds(2);  // zero: only when Round() is called
    // Gets a sentence about a failure, and about its end.
    std::function<void(const std::string&)> tell;
  };
  // `approvals` and `outcomes` must outlive it. Does nothing if no node action is offered.
  OutcomePublisher(galen::remediation::ApprovalStore& approvals,
                   galen::remediation::RepairOutcomeStore& outcomes,
                   galen::remediation::NodeActions offered, Read read, Submit submit,
                   Options options);
  ~OutcomePublisher();
  OutcomePublisher(const OutcomePublisher&) = delete;
  OutcomePublisher& operator=(const OutcomePublisher&) = delete;

  // Publishes once the outcomes that are not acknowledged yet. The thread calls it repeatedly.
  absl::Status Round();

 private:
  void Loop();
  absl::Status Publish(const galen::v1::Action& action);

  galen::remediation::ApprovalStore& approvals_;
  galen::remediation::RepairOutcomeStore& outcomes_;
  const galen::remediation::NodeActions offered_;
  const Read read_;
  const Submit submit_;
  const Options options_;
  Cancellation cancellation_;
  std::thread thread_;
};

}  // namespace galen::gateway::actions

#endif  // SERVICES_GATEWAY_ACTIONS_OUTCOME_PUBLISHER_H_
