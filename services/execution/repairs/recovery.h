#ifndef SERVICES_EXECUTION_REPAIRS_RECOVERY_H_
#define SERVICES_EXECUTION_REPAIRS_RECOVERY_H_

#include <string>
#include <vector>

#include "common/actions/run_action.h"
#include "galen/v1/evidence.pb.h"

namespace galen::execution {

// Whether what an action promises is so by now.
struct Recovered {
  bool all = false;
  std::string text;  // each promise and what was found, for people
};

// `results`: of the checks that the promises name, on the target's node. Recovered is what was
// found so: what no check could tell is not. Of a GPU the finding about that very one counts. Pure.
Recovered RecoveryOf(const std::vector<actions::RunAction::Recovery>& promises,
                     const galen::v1::Device& target,
                     const std::vector<galen::v1::CheckResult>& results);

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_REPAIRS_RECOVERY_H_
