#ifndef SERVICES_EXECUTION_REPAIRS_RECOVERY_H_
#define SERVICES_EXECUTION_REPAIRS_RECOVERY_H_

#include <string>
#include <vector>

#include "common/remediation/run_action.h"
#include "galen/v1/evidence.pb.h"

namespace galen::execution {

// Whether what an action promises is so by now.
struct Recovered {
  bool all = false;
  std::string text;  // each promise and what was found, for people
};

// Whether a finding is about that target: a GPU is told by its address where both know it, else by
// its place; everything of a node is about the node. Pure.
bool IsAbout(const galen::v1::Finding& finding, const galen::v1::Device& target);

// `results`: of the checks that the promises name, on the target's node. Recovered is what was
// found so: what no check could tell is not. Of a GPU the finding about that very one counts. Pure.
Recovered RecoveryOf(const std::vector<remediation::RunAction::Recovery>& promises,
                     const galen::v1::Device& target,
                     const std::vector<galen::v1::CheckResult>& results);

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_REPAIRS_RECOVERY_H_
