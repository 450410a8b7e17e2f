#ifndef COMMON_ACTIONS_NODE_ACTIONS_H_
#define COMMON_ACTIONS_NODE_ACTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/actions/run_action.h"

namespace galen::actions {

// An action that Galen itself can carry out on a node: through the API server of a Kubernetes
// cluster, or through the node's own executor.
struct NodeAction {
  enum class Do { kCordon, kTaint, kRun };
  std::string name;  // "kubernetes.cordon"
  Do what = Do::kCordon;
  std::string taint_key;                        // kTaint: "galen.io/faulty"
  std::string taint_effect;                     // NoSchedule, PreferNoSchedule or NoExecute
  std::string text;                             // with ${node} and ${label}
  std::vector<std::string> labels;              // causes, or what they begin with
  std::optional<RunAction> run = std::nullopt;  // kRun: what; text and labels stand here too

  // The text that a person reads and approves.
  std::string TextFor(absl::string_view node, absl::string_view label) const;
  bool IsFor(absl::string_view label) const;
};

struct NodeActions {
  std::vector<NodeAction> actions;
  int most = 0;  // nodes that may be out at once by our hand
  // Null: there is none of that name.
  const NodeAction* Find(absl::string_view name) const;
  // Whether checks tell, after the action of that name, whether it helped: of any other one nothing
  // is known but that it was done.
  bool LooksAfter(absl::string_view name) const;
};

// Reads knowledge/kubernetes/actions.yaml. INVALID_ARGUMENT with file, line and what to do.
absl::StatusOr<NodeActions> ParseNodeActions(absl::string_view text, absl::string_view file);

// Those that are `offered`: "kubernetes.*" of the last of the knowledge's directories that has such
// a file, "node.*" of knowledge/actions; nothing is read when that is empty. INVALID_ARGUMENT also
// when one that is offered is not there.
absl::StatusOr<NodeActions> LoadNodeActions(const std::vector<std::string>& directories,
                                            const std::vector<std::string>& offered);

}  // namespace galen::actions

#endif  // COMMON_ACTIONS_NODE_ACTIONS_H_
