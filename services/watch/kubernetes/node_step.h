#ifndef SERVICES_WATCH_KUBERNETES_NODE_STEP_H_
#define SERVICES_WATCH_KUBERNETES_NODE_STEP_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/kube/answer.h"
#include "common/remediation/node_actions.h"
#include "galen/v1/action_service.pb.h"

// The steps of an approved action on a node. All pure.
namespace galen::watch::kubernetes {

// Marks nodes that are out of service because of Galen; its value is the action.
inline constexpr char kOutLabel[] = "galen.io/taken-out";

// One of three: a patch, nothing to do, or a refusal; the sentence explains it, for people.
struct NodeStep {
  // RFC 7396, for the exact version of the node that was inspected.
  std::optional<kube::Json> patch;
  bool refused = false;
  bool done_before = false;  // nothing to do, because this action did it already
  std::string text;
};
// `node` in its present state, `out` the nodes with kOutLabel. The node is refused if `most` others
// are still out: something may be wrong with the diagnoses.
NodeStep StepFor(const galen::v1::Action& action, const remediation::NodeAction& how,
                 const kube::Json& node, absl::Span<const kube::Json> out, int most);

}  // namespace galen::watch::kubernetes

#endif  // SERVICES_WATCH_KUBERNETES_NODE_STEP_H_
