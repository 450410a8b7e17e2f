#ifndef SERVICES_EXECUTION_CALL_PARTS_H_
#define SERVICES_EXECUTION_CALL_PARTS_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/knowledge/knowledge.h"
#include "galen/execution/v1/execution.pb.h"
#include "galen/v1/evidence.pb.h"
#include "services/execution/cancel_group.h"
#include "services/execution/fan_out.h"
#include "services/execution/history_checks.h"
#include "services/execution/node_breaker.h"
#include "services/execution/node_registry.h"
#include "services/execution/result_cache.h"
#include "services/execution/telemetry_checks.h"
#include "services/execution/tenant_nodes.h"

namespace galen::execution {

// One RunChecks call, divided by the source of the results: each node alone, nodes in pairs,
// telemetry, or the store of earlier failures. Runs all of it but the calls to single nodes. The
// calls that it starts do not refer to it.
class CallParts {
 public:
  // All must outlive the calls that it starts.
  struct Sources {
    const NodeRegistry& registry;
    const Clock& clock;
    NodeBreaker& breaker;
    ResultCache& cache;
    TelemetryChecks* telemetry;     // null: there is none
    HistoryChecks* history;         // null: there is none
    TenantNodesFile* tenant_nodes;  // null: every tenant sees every node
    absl::Duration node_timeout;    // of one node in one call
  };
  struct Call {
    std::shared_ptr<const knowledge::Knowledge> knowledge;
    const v1::RunChecksRequest& request;
    const std::set<std::string>& checks;
    const std::vector<std::string>& nodes;  // that the caller is shown
    std::map<std::string, std::string> variants;
    absl::Time deadline;
    std::shared_ptr<FanOut> fan_out;
    std::shared_ptr<CancelGroup> calls;
    // For another replica, which does everything but the calls to single nodes itself.
    bool share;
  };

  CallParts(const Sources& sources, Call call);

  // Lets the nodes owe their results.
  void Add() const;
  // Gives the results of single nodes that the cache knows, and what other nodes of the diagnosis
  // answered before, to compare with. Returns the remaining nodes by the checks that they owe.
  std::map<std::set<std::string>, std::vector<std::string>> TakeKnown() const;
  // Begins what no single node answers.
  void Start() const;

 private:
  // Those of the checks that nodes run in pairs.
  std::set<std::string> PairChecks() const;
  std::set<std::string> OfKind(knowledge::v1::Check::Kind kind) const;
  std::optional<galen::v1::CheckResult> Known(const std::string& check,
                                              const std::string& node) const;
  // Whether the cache knows the results of all nodes.
  bool AllKnown(const std::set<std::string>& checks) const;
  // Gives the results of the node that the cache knows; returns the checks that it does not know.
  std::set<std::string> FromCache(const std::string& node, const std::set<std::string>& checks,
                                  const std::string& part) const;
  // The client of the node's executor, or the reason why there is none.
  absl::StatusOr<NodeRegistry::Node> ClientOf(const std::string& node) const;
  void RunPairs(const std::string& check) const;
  // Telemetry's results for the nodes: one query for all of them, unless all results are known.
  void RunTelemetry() const;
  // Earlier failures of the nodes, from the store.
  void RunHistory() const;

  const Sources sources_;
  const Call call_;
  // The checks of each part.
  std::set<std::string> alone_;
  std::set<std::string> paired_;
  std::set<std::string> measured_;
  std::set<std::string> remembered_;
};

// The time that the check may take on top of what every check may.
absl::Duration TimeLimitOf(const knowledge::v1::Check& check);

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_CALL_PARTS_H_
