#ifndef SERVICES_WATCH_KUBERNETES_NODE_REPAIRS_H_
#define SERVICES_WATCH_KUBERNETES_NODE_REPAIRS_H_

#include <functional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"
#include "common/base/clock.h"
#include "common/kube/client.h"
#include "common/remediation/approval_store.h"
#include "common/remediation/node_actions.h"

namespace galen::watch::kubernetes {

// Carries out approved actions on the nodes of a cluster: each approval is consumed once, for
// exactly the approved content, and the result is recorded with it. Two instances at once, or one
// that is killed in between, do nothing twice: both consume the approval as one run, and completed
// steps are not repeated. Ends with its destruction.
class NodeRepairs {
 public:
  struct Options {
    absl::Duration every = absl::Seconds(2);
    // How long a begun action is retried while the API server is unreachable.
    absl::Duration patience = absl::Minutes(15);
  };
  // All must outlive it. `tell` gets a sentence about each action, done or not.
  NodeRepairs(kube::Client& client, remediation::ApprovalStore& approvals,
              remediation::NodeActions known, const Clock& clock, Options options,
              std::function<void(const std::string&)> tell);
  ~NodeRepairs();
  NodeRepairs(const NodeRepairs&) = delete;
  NodeRepairs& operator=(const NodeRepairs&) = delete;

 private:
  struct Outcome {
    bool began = false;  // the node was changed
    bool succeeded = false;
    std::string text;
  };
  void Loop();
  absl::Status Round();
  absl::Status Serve(const galen::v1::Action& action);
  // UNAVAILABLE, ABORTED and the like: to be retried.
  absl::StatusOr<Outcome> Do(const galen::v1::Action& action, const remediation::NodeAction& how);

  kube::Client& client_;
  remediation::ApprovalStore& approvals_;
  const remediation::NodeActions known_;
  const Clock& clock_;
  const Options options_;
  const std::function<void(const std::string&)> tell_;
  Cancellation cancellation_;
  std::thread thread_;
};

}  // namespace galen::watch::kubernetes

#endif  // SERVICES_WATCH_KUBERNETES_NODE_REPAIRS_H_
