#ifndef SERVICES_WATCH_KUBERNETES_FINDINGS_H_
#define SERVICES_WATCH_KUBERNETES_FINDINGS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/kube/answer.h"
#include "galen/v1/diagnosis.pb.h"
#include "services/watch/kubernetes/node_rules.h"

// The findings of concluded diagnoses about the nodes of a Kubernetes cluster. All pure.
namespace galen::watch::kubernetes {

// A confirmed cause on one node.
struct Fault {
  std::string node;
  std::string label;
  std::string text;  // "Uncorrectable ECC on gpu:1 (probability 0.97)"
};

// The conclusion of a diagnosis.
struct Conclusion {
  std::string diagnosis;  // id only: the tenant must not leak into cluster events
  absl::Time time;
  std::vector<Fault> faults;
  std::set<std::pair<std::string, std::string>> ruled_out;  // node and label
};
// The kind of evidence that counts for a conclusion about a node.
enum class Witness {
  kChecks,  // checks of that node: the logs of a customer's incident may name any machine
  kAll,     // also signals of logs: in our own incidents these are reports of nodes
};
// For a report: its confirmed causes that are not the customer's to repair, on each affected node
// that a witness supports; and the causes that checks of nodes ruled out.
Conclusion ConclusionOf(const std::string& name, absl::Time time, const galen::v1::Report& report,
                        Witness witness);

// "GpuMemoryUncorrectableEcc" of "GPU.MEMORY.UNCORRECTABLE_ECC".
std::string ReasonOf(absl::string_view label);

// A problem that a node has.
struct Problem {
  std::string reason;
  std::string message;
  absl::Time since;  // the first conclusion that says so
  absl::Time seen;   // the last one
};
// By node and type of condition: the conclusions of the last `hold`, the last one if there are
// several. A conclusion that a later one rules out on that node does not count.
using Problems = std::map<std::string, std::map<std::string, Problem>>;
Problems ProblemsOf(absl::Span<const Conclusion> conclusions, const NodeRules& rules,
                    absl::Duration hold, absl::Time now);

// The strategic merge patch that sets our conditions in a node's status: True for each problem;
// False for a condition that is no longer True. Nothing if they are set already: an unexamined node
// gets no condition, since unknown is not healthy. Other conditions stay.
std::optional<kube::Json> PatchOf(const kube::Json& node,
                                  const std::map<std::string, Problem>& problems,
                                  const NodeRules& rules, absl::Time now);

// The event that reports a fault, in namespace "default", as events of nodes are. Its name follows
// from its content, so it is made once.
kube::Json EventOf(const Conclusion& conclusion, const Fault& fault);

// Whether a node should have a node executor.
bool HasGpu(const kube::Json& node, const NodeRules& rules);

}  // namespace galen::watch::kubernetes

#endif  // SERVICES_WATCH_KUBERNETES_FINDINGS_H_
