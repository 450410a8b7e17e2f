#ifndef SERVICES_WATCH_CLUSTER_NODE_STEP_H_
#define SERVICES_WATCH_CLUSTER_NODE_STEP_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/actions/node_actions.h"
#include "common/kube/answer.h"
#include "galen/v1/action_service.pb.h"

// The steps of an approved action on a node. All pure.
namespace galen::watch::cluster {

// On nodes that are out by Galen's hand, so that they are found; its value is what was done.
inline constexpr char kOutLabel[] = "galen.io/taken-out";

// One of three: a patch, nothing to do, or a refusal; the sentence says which, for people.
struct NodeStep {
  std::optional<kube::Json> patch;  // RFC 7396, for the very version of the node that was looked at
  bool refused = false;
  bool done_before = false;  // nothing to do, as this very action did it
  std::string text;
};
// `node` as it is, `out` the nodes with kOutLabel. The node is refused when `most` others are still
// out: something may be wrong with the diagnoses.
NodeStep StepFor(const galen::v1::Action& action, const actions::NodeAction& how,
                 const kube::Json& node, absl::Span<const kube::Json> out, int most);

}  // namespace galen::watch::cluster

#endif  // SERVICES_WATCH_CLUSTER_NODE_STEP_H_
