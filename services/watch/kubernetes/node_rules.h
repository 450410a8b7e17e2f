#ifndef SERVICES_WATCH_KUBERNETES_NODE_RULES_H_
#define SERVICES_WATCH_KUBERNETES_NODE_RULES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::watch::kubernetes {

// Maps causes to conditions of a node.
struct ConditionRule {
  std::string type;                 // begins with "Galen"
  std::vector<std::string> labels;  // or their prefixes
  std::string title;
};

// knowledge/kubernetes/conditions.yaml.
struct NodeRules {
  std::vector<ConditionRule> conditions;
  std::vector<std::string> gpu_labels;  // "name=value"
  std::vector<std::string> gpu_resources;

  // The first matching rule; null: such a cause has no condition.
  const ConditionRule* For(absl::string_view label) const;
  // Whether a condition of this type is one that we write.
  bool IsOurs(absl::string_view type) const;
};

// INVALID_ARGUMENT with file and line.
absl::StatusOr<NodeRules> ParseNodeRules(absl::string_view text, absl::string_view file);
// The rules of the last directory that has kubernetes/conditions.yaml; NOT_FOUND if none has.
absl::StatusOr<NodeRules> LoadNodeRules(const std::vector<std::string>& directories);

}  // namespace galen::watch::kubernetes

#endif  // SERVICES_WATCH_KUBERNETES_NODE_RULES_H_
