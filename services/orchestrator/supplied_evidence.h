#ifndef SERVICES_ORCHESTRATOR_SUPPLIED_EVIDENCE_H_
#define SERVICES_ORCHESTRATOR_SUPPLIED_EVIDENCE_H_

#include <string>
#include <vector>

#include "galen/v1/evidence.pb.h"

namespace galen::orchestrator {

// One result of what several sources say of the same check on the same node.
struct MergedResult {
  v1::CheckResult result;
  // One sentence for each contradiction between a person's output and the machine.
  std::vector<std::string> contradictions;
};

// The check ran to its end.
bool IsDefinite(const v1::CheckResult& result);

// Merges the result of the machine (or its capture) with the customer's. Finding by finding:
//
// - An event that either of them logged was there.
// - Abnormal in one and normal in the other: if the customer's is newer, the abnormal value counts,
//   as the trouble was there then. If the machine was examined later and is normal, the answer is
//   unknown: the finding loses its value, so that it neither proves nor refutes. Either way it is
//   reported as a contradiction.
// - Else the newer one counts.
//
// A result that is not definite says nothing. `machine_is_newer`: the machine was examined after
// the customer's output was given. Pure.
MergedResult MergeSupplied(const v1::CheckResult& machine, const v1::CheckResult& told,
                           bool machine_is_newer);

// The same status and the same findings. Pure.
bool AreEquivalent(const v1::CheckResult& a, const v1::CheckResult& b);

// The abnormal findings of an earlier result, for a machine that can no longer be read. None of
// them refutes. Pure.
v1::CheckResult EarlierAbnormalFindings(const v1::CheckResult& earlier);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_SUPPLIED_EVIDENCE_H_
