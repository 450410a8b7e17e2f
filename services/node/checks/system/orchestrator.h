#ifndef SERVICES_NODE_CHECKS_SYSTEM_ORCHESTRATOR_H_
#define SERVICES_NODE_CHECKS_SYSTEM_ORCHESTRATOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"
#include "services/node/checks/system/log_wants.h"

namespace galen::node {

// A node as its orchestrator knows it.
struct NodeObject {
  std::string name;
  std::optional<bool> ready;
  std::optional<std::int64_t> gpus;              // that it has
  std::optional<std::int64_t> allocatable_gpus;  // that it hands out
  std::string state;                             // "IDLE+DRAIN"; Slurm only
  std::string reason;                            // why it is not in service
};

// Output of `kubectl get node <host> -o json`. DATA_LOSS: it is not that.
absl::StatusOr<NodeObject> ParseKubeNode(absl::string_view json);

// Output of `scontrol show node <host>`, one node. DATA_LOSS: it is not that.
absl::StatusOr<NodeObject> ParseScontrolNode(absl::string_view text);

// The nodes of `sinfo --json`, `scontrol show nodes --json` or slurmrestd. DATA_LOSS: not that.
absl::StatusOr<std::vector<NodeObject>> ParseSlurmNodes(absl::string_view json);

// One container of a pod that ended.
struct Termination {
  std::string container;
  std::string reason;  // "OOMKilled", "Error", "Completed"
  std::optional<int> exit_code;
};

// Output of `kubectl describe pod <pod>`.
struct PodObject {
  std::string name;
  std::string status;  // "Running", "Failed"
  std::string reason;  // "Evicted"
  std::string message;
  std::vector<Termination> terminations;
  std::string memory_limit;  // "8Gi"
  struct Event {
    std::string type;  // "Warning"
    std::string reason;
    std::string message;
  };
  std::vector<Event> events;
};

// DATA_LOSS: it is not that.
absl::StatusOr<PodObject> ParsePodDescription(absl::string_view text);

// Every captured description of a pod; on a live host that of the job's own pod.
std::vector<PodObject> JobPods(const host::Host& host);

// system.orchestrator.
extern const LogWant kOrchestratorWant;
absl::StatusOr<CheckOutput> CheckOrchestrator(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_ORCHESTRATOR_H_
