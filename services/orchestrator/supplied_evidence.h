#ifndef SERVICES_ORCHESTRATOR_SUPPLIED_EVIDENCE_H_
#define SERVICES_ORCHESTRATOR_SUPPLIED_EVIDENCE_H_

#include <string>
#include <vector>

#include "galen/v1/evidence.pb.h"

namespace galen::orchestrator {

// One result of what several sources say of the same check on the same node.
struct MergedResult {
  v1::CheckResult result;
  // Where a person's output and the machine do not agree, one sentence each.
  std::vector<std::string> contradictions;
};

// The check ran to its end.
bool IsDefinite(const v1::CheckResult& result);

// What the machine (or its capture) says, and what the customer gave. Finding by finding:
//
// - An event that either of them logged was there.
// - What is abnormal in one and normal in the other: where the customer's is the newer one, what is
//   abnormal counts, for the trouble that is looked into was there then. Where the machine was
//   looked at later and is normal, nobody can tell: the finding loses its value, so that it neither
//   proves nor refutes. Either way it is a contradiction, and is told.
// - Else the newer one counts.
//
// A result that is not definite says nothing. `machine_is_newer`: it was looked at after the
// customer's output was given. Pure.
MergedResult MergeSupplied(const v1::CheckResult& machine, const v1::CheckResult& told,
                           bool machine_is_newer);

// The same status and the same findings. Pure.
bool AreEquivalent(const v1::CheckResult& a, const v1::CheckResult& b);

// What is left of a result of an earlier look once the machine could not be read again: what was
// abnormal then. Nothing of it refutes. Pure.
v1::CheckResult EarlierAbnormalFindings(const v1::CheckResult& earlier);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_SUPPLIED_EVIDENCE_H_
