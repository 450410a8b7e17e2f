#ifndef SERVICES_NODE_EXEC_TRIALS_H_
#define SERVICES_NODE_EXEC_TRIALS_H_

#include <functional>
#include <string>
#include <vector>

#include "galen/knowledge/v1/knowledge.pb.h"
#include "services/node/checks/check.h"

namespace galen::node {

// A further run of a program that failed or hung, with one change in its environment. If it passes,
// the change shows the cause of the failure.
struct Trial {
  std::string finding;                // true: it passes so, and fails without
  std::vector<std::string> settings;  // NAME=value, added to its environment
};

// The trials in `data` of a check of kind EXEC (docs/exec.md), in the order of the file. Pure.
std::vector<Trial> TrialsOf(const knowledge::v1::Check& check);

enum class TrialEnd { kPassed, kFailed, kNotRun };

// Runs the program with these settings (none: as the check does). kNotRun: it was cancelled, or
// there is no time for a whole run.
using RunOnce = std::function<TrialEnd(const std::vector<std::string>& settings)>;

// Makes a finding for each trial, on the node `node`, of a program that has failed once. A pass
// counts only if the program fails without the change once more: an intermittent failure passes
// with any change. Unknown if that cannot be decided. The message reports the result of each.
CheckOutput RunTrials(const std::vector<Trial>& trials, const std::string& node,
                      const RunOnce& run);

}  // namespace galen::node

#endif  // SERVICES_NODE_EXEC_TRIALS_H_
