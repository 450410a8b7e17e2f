#ifndef SERVICES_WATCH_CLUSTER_FINDINGS_H_
#define SERVICES_WATCH_CLUSTER_FINDINGS_H_

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
#include "services/watch/cluster/node_rules.h"

// What concluded diagnoses say of the nodes of a Kubernetes cluster. All pure.
namespace galen::watch::cluster {

// A confirmed cause on one node.
struct Fault {
  std::string node;
  std::string label;
  std::string text;  // "Uncorrectable ECC on gpu:1 (probability 0.97)"
};

// What a diagnosis concluded.
struct Conclusion {
  std::string
      diagnosis;  // the last part of its name: not whose it is, which is no cluster's to know
  absl::Time time;
  std::vector<Fault> faults;
  std::set<std::pair<std::string, std::string>> ruled_out;  // node and label
};
// Whose word counts for what is said of a node.
enum class Witness {
  kChecks,  // checks of that node: the logs of a customer's incident may name any machine
  kAll,     // also signals of logs: those of an incident of our own are what nodes reported to us
};
// Of a report: its confirmed causes that are not for the customer to mend, on each node that they
// sit on and that a witness speaks of; and what was ruled out by checks of nodes.
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
// By node and type of condition: what the conclusions of the last `hold` say, of several the last.
// One that a later conclusion rules out on that node is none.
using Problems = std::map<std::string, std::map<std::string, Problem>>;
Problems ProblemsOf(absl::Span<const Conclusion> conclusions, const NodeRules& rules,
                    absl::Duration hold, absl::Time now);

// The strategic merge patch of a node's status that makes our conditions say this: True for each
// problem; False for one that is True no longer. Nothing when they do already: a node that nobody
// looked at gets no condition, since unknown is not healthy. Conditions of others stay.
std::optional<kube::Json> PatchOf(const kube::Json& node,
                                  const std::map<std::string, Problem>& problems,
                                  const NodeRules& rules, absl::Time now);

// The event that tells of a fault, in namespace "default", as events of nodes are. Its name follows
// from what it tells, so it is made once.
kube::Json EventOf(const Conclusion& conclusion, const Fault& fault);

// Whether a node ought to have a node executor.
bool HasGpu(const kube::Json& node, const NodeRules& rules);

}  // namespace galen::watch::cluster

#endif  // SERVICES_WATCH_CLUSTER_FINDINGS_H_
