#ifndef COMMON_REMEDIATION_NODE_ACTIONS_H_
#define COMMON_REMEDIATION_NODE_ACTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/remediation/run_action.h"

namespace galen::remediation {

// An action that Galen itself can carry out on a node: through the API server of a Kubernetes
// cluster, or through the node's own executor.
struct NodeAction {
  enum class Do { kCordon, kTaint, kRun };
  std::string name;  // "kubernetes.cordon"
  Do what = Do::kCordon;
  std::string taint_key;                        // kTaint: "galen.io/faulty"
  std::string taint_effect;                     // NoSchedule, PreferNoSchedule or NoExecute
  std::string text;                             // with ${node} and ${label}
  std::vector<std::string> labels;              // causes, or their prefixes
  std::optional<RunAction> run = std::nullopt;  // kRun: the action; text and labels are copied here

  // The text that a person reads and approves.
  std::string TextFor(absl::string_view node, absl::string_view label) const;
  bool IsFor(absl::string_view label) const;
};

struct NodeActions {
  std::vector<NodeAction> actions;
  int most = 0;  // nodes that may be out of service at once because of Galen
  // Null if there is no action of that name.
  const NodeAction* Find(absl::string_view name) const;
  // Whether checks verify the action of that name afterwards; for any other action only its
  // execution is known.
  bool LooksAfter(absl::string_view name) const;
};

// Reads knowledge/kubernetes/actions.yaml. INVALID_ARGUMENT with file, line and remedy.
absl::StatusOr<NodeActions> ParseNodeActions(absl::string_view text, absl::string_view file);

// The `offered` actions: "kubernetes.*" from the last knowledge directory with such a file,
// "node.*" from knowledge/actions; nothing is read if `offered` is empty. INVALID_ARGUMENT also if
// an offered action does not exist.
absl::StatusOr<NodeActions> LoadNodeActions(const std::vector<std::string>& directories,
                                            const std::vector<std::string>& offered);

}  // namespace galen::remediation

#endif  // COMMON_REMEDIATION_NODE_ACTIONS_H_
