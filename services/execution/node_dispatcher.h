#ifndef SERVICES_EXECUTION_NODE_DISPATCHER_H_
#define SERVICES_EXECUTION_NODE_DISPATCHER_H_

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "galen/execution/v1/execution.pb.h"
#include "galen/node/v1/node.pb.h"
#include "services/execution/cancel_group.h"
#include "services/execution/fan_out.h"
#include "services/execution/node_breaker.h"
#include "services/execution/node_calls.h"
#include "services/execution/node_registry.h"
#include "services/execution/peers.h"

namespace galen::execution {

// Why a node is not asked that nobody runs checks for, or whose executor the caller is not shown.
absl::Status NoExecutor();

// The request to a node executor for one of its nodes.
node::v1::RunChecksRequest CallOf(const v1::RunChecksRequest& request, const std::string& node,
                                  const std::set<std::string>& checks);

// The calls of one RunChecks: how a batch of nodes is asked, by this replica or another, and what
// becomes of what is not answered. Thread-safe; made with std::make_shared.
class NodeDispatcher : public std::enable_shared_from_this<NodeDispatcher> {
 public:
  struct Parts {
    const NodeRegistry& registry;
    const Clock& clock;
    const Peers* peers;  // null: there are none
    std::shared_ptr<NodeBreaker> breaker;
    std::shared_ptr<NodeBreaker> peer_breaker;
    std::shared_ptr<FanOut> fan_out;
    std::shared_ptr<CancelGroup> calls;
  };
  // `node_time`: what one node may take. `request` without its nodes.
  NodeDispatcher(Parts parts, v1::RunChecksRequest request, absl::Duration node_time,
                 absl::Time deadline)
      : parts_(std::move(parts)),
        request_(std::move(request)),
        node_time_(node_time),
        deadline_(deadline) {}

  // Asks a batch; NodeCalls::Start.
  void Ask(const Batch& batch, const NodeCalls::Ended& ended);

 private:
  void AskExecutor(Batch batch, const NodeCalls::Ended& ended);
  void AskReplica(const Batch& batch, const NodeCalls::Ended& ended);
  void AskReader(const std::string& node, std::size_t attempt, const NodeCalls::Ended& ended);
  void GiveUp(const Batch& batch, const absl::Status& status, const NodeCalls::Ended& ended);
  // Records which nodes of the batch did not answer.
  void Record(const Batch& batch, const absl::Status& status);
  // The results that the batch's nodes still owe, for this replica to ask for.
  std::vector<Batch> OwedOf(const Batch& batch);
  absl::Time NodeDeadline() const;

  const Parts parts_;
  const v1::RunChecksRequest request_;
  const absl::Duration node_time_;
  const absl::Time deadline_;
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_NODE_DISPATCHER_H_
