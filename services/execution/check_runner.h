#ifndef SERVICES_EXECUTION_CHECK_RUNNER_H_
#define SERVICES_EXECUTION_CHECK_RUNNER_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/hot_swap.h"
#include "common/clients/clients.h"
#include "common/knowledge/knowledge.h"
#include "common/observability/metrics/check_numbers.h"
#include "common/observability/metrics/registry.h"
#include "services/execution/backpressure.h"
#include "services/execution/cancel_group.h"
#include "services/execution/fan_out.h"
#include "services/execution/history_checks.h"
#include "services/execution/node_breaker.h"
#include "services/execution/node_calls.h"
#include "services/execution/node_registry.h"
#include "services/execution/peers.h"
#include "services/execution/result_cache.h"
#include "services/execution/straggler_monitor.h"
#include "services/execution/telemetry_checks.h"
#include "services/execution/tenant_nodes.h"

namespace galen::execution {

// Picks the nodes and fans checks out to their executors. Thread-safe.
class CheckRunner {
 public:
  struct Options {
    // Time limit of one node in one call; results still missing then become ERROR.
    absl::Duration node_timeout = absl::Seconds(60);
    // How long a node that did not answer is not asked again.
    absl::Duration node_pause = absl::Minutes(1);
    // How many nodes of one call are asked at the same time, and when they are late.
    NodeCalls::Limits limits;
    // Interval of the search for late nodes; zero: LookForLate() is called instead.
    absl::Duration look = absl::Milliseconds(250);
    // Nodes at one place that are asked in one call, and nodes that another replica is asked for
    // in one call.
    std::size_t batch = 256;
    // The other replicas, which must outlive the runner; null: there are none.
    const Peers* peers = nullptr;
    // How long a replica that did not answer is not asked again.
    absl::Duration peer_pause = absl::Seconds(5);
    // Maps nodes to tenants: a diagnosis sees the nodes of its tenant alone, as though no others
    // were registered. Must outlive the runner; null: every tenant sees every node.
    TenantNodesFile* tenant_nodes = nullptr;
    // Answers checks from time series; must outlive the runner. Null: these checks are SKIPPED.
    TelemetryChecks* telemetry = nullptr;
    // Answers checks from earlier failures in the store; must outlive the runner. Null: these
    // checks are SKIPPED.
    HistoryChecks* history = nullptr;
    // An incident without nodes covers the nodes that have time series, whether or not they have an
    // executor: for a program that examines a cluster from outside.
    bool nodes_from_telemetry = false;
    // An incident of more nodes has no opening checks: its telemetry is not read all at once.
    int most_opening_nodes = 256;
    // Names of the nodes of a bundle directory, sorted. Reads the directory, nothing else.
    std::function<absl::StatusOr<std::vector<std::string>>(const std::string& bundle)> bundle_nodes;
  };

  // `registry` and `clock` must outlive the runner and every call in flight. A call keeps to the
  // knowledge that is current when it begins.
  CheckRunner(const NodeRegistry& registry, HotSwap<knowledge::Knowledge> knowledge,
              const Clock& clock, Options options);

  // See execution.proto.
  absl::StatusOr<v1::ResolveNodesResponse> ResolveNodes(
      const v1::ResolveNodesRequest& request) const;

  // See execution.proto. Returns at once. `on_result` and `done` run on the node clients' threads,
  // never two at a time; `done` comes last, exactly once. A result that does not belong to the
  // call (another check or node, or the second of its kind) is dropped, and noted in the ERROR
  // result of the pair that then is missing. Checks that compare nodes answer once all nodes have.
  // A live node that does not answer is a fact, and an ERROR result; where no reader of a bundle
  // answers the call ends with UNAVAILABLE instead, and may be made again for what is missing.
  //
  // Cancelling it cancels the calls to the nodes; what they do not answer then is ERROR. While
  // `backpressure` is full no further node is asked; null: it never is.
  clients::Cancel RunChecks(const v1::RunChecksRequest& request, absl::Time deadline,
                            clients::OnMessage<galen::v1::CheckResult> on_result,
                            absl::AnyInvocable<void(absl::Status) &&> done,
                            const std::shared_ptr<Backpressure>& backpressure = nullptr) const;

  // The same for another replica, which compares: nodes that are not known here are left out, and
  // no other replica is asked. INVALID_ARGUMENT a bundle.
  clients::Cancel RunShare(const v1::RunChecksRequest& request, absl::Time deadline,
                           clients::OnMessage<galen::v1::CheckResult> on_result,
                           absl::AnyInvocable<void(absl::Status) &&> done,
                           const std::shared_ptr<Backpressure>& backpressure = nullptr) const;

  // Whether the diagnosis is shown this live node; without one, an operator asks.
  std::function<bool(const std::string& node)> SeenBy(const std::string& diagnosis) const {
    return NodesSeenBy(options_.tenant_nodes, diagnosis);
  }

  // Finds the calls to nodes that are late by now.
  void LookForLate() const { late_->Look(); }

  // In numbers: results passed on, nodes known and silent. Must not be asked when this is gone.
  std::shared_ptr<const prometheus::Collectable> metrics() const;

 private:
  using KnowledgePtr = std::shared_ptr<const knowledge::Knowledge>;

  // The current knowledge, or the one before it, where only that declares all of `checks`: a
  // diagnosis that began before a check was taken out still asks for it. INVALID_ARGUMENT names a
  // check that neither declares.
  absl::StatusOr<KnowledgePtr> KnowledgeFor(const std::set<std::string>& checks) const;
  // The checks and nodes that "everything" stands for.
  absl::StatusOr<v1::RunChecksRequest> Everything(const v1::RunChecksRequest& request) const;
  clients::Cancel Run(const v1::RunChecksRequest& request, absl::Time deadline,
                      clients::OnMessage<galen::v1::CheckResult> on_result,
                      absl::AnyInvocable<void(absl::Status) &&> done,
                      const std::shared_ptr<Backpressure>& backpressure, bool share) const;
  // Which replica asks which nodes: the nodes by the checks that they owe.
  std::deque<Batch> Plan(const std::map<std::set<std::string>, std::vector<std::string>>& missing,
                         bool bundle, bool share) const;
  // The calls of one RunChecks to single nodes. `long_checks`: what its checks may take on top.
  std::shared_ptr<NodeCalls> MakeNodeCalls(const v1::RunChecksRequest& request,
                                           const std::shared_ptr<FanOut>& fan_out,
                                           const std::shared_ptr<CancelGroup>& calls,
                                           absl::Duration long_checks, absl::Time deadline,
                                           const std::shared_ptr<Backpressure>& backpressure) const;
  // The nodes alone.
  absl::StatusOr<v1::ResolveNodesResponse> FindNodes(const v1::ResolveNodesRequest& request) const;

  const NodeRegistry& registry_;
  const HotSwap<knowledge::Knowledge> knowledge_;
  const Clock& clock_;
  const Options options_;
  // Shared with the calls in flight.
  const std::shared_ptr<NodeBreaker> breaker_;
  const std::shared_ptr<NodeBreaker> peer_breaker_;
  const std::shared_ptr<ResultCache> cache_;
  const std::shared_ptr<metrics::CheckNumbers> numbers_ = std::make_shared<metrics::CheckNumbers>();
  const std::unique_ptr<StragglerMonitor> late_;
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_CHECK_RUNNER_H_
