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

// Whether a finding is about that target: a GPU is identified by its address if both know it,
// otherwise by its index; for a node, every finding on it counts. Pure.
bool IsAbout(const galen::v1::Finding& finding, const galen::v1::Device& target);

// `results`: of the checks that the promises name, on the target's node. A promise holds only if a
// check confirmed it; an unknown finding does not. For a GPU, only findings about that GPU count.
// Pure.
Recovered RecoveryOf(const std::vector<remediation::RunAction::Recovery>& promises,
                     const galen::v1::Device& target,
                     const std::vector<galen::v1::CheckResult>& results);

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_REPAIRS_RECOVERY_H_
