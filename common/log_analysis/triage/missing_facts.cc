#include "common/log_analysis/triage/missing_facts.h"

#include <utility>

namespace galen::triage {

std::vector<std::string> MissingFacts(const JobReport& report, const StepTrack* track,
                                      std::optional<absl::Time> done) {
  std::vector<std::string> missing;
  const auto tell = [&](std::string text) { missing.push_back(std::move(text)); };
  const Status status = report.decision.status;
  const Progress& progress = report.progress;
  const bool has_steps = progress.last_step.has_value();
  if (status == Status::kUnknown && report.scheduler.empty()) {
    tell(
        "whether the job still runs: --scheduler-state, from squeue and sacct or kubectl get "
        "pod");
  }
  if (status == Status::kUnknown || status == Status::kUnknownDeath) {
    tell(
        "how it ended: the end of this log, the logs of the other ranks, the kernel log of its "
        "nodes, sacct or kubectl describe pod");
  }
  if (track == nullptr) {
    tell(
        "how far it came: no line reports a step in a form that knowledge/triage/formats.yaml "
        "has");
  } else if (has_steps) {
    if (!progress.total_steps.has_value()) tell("how many steps were asked for");
    if (!progress.timed) tell("how long a step takes");
    if (!progress.saved_step.has_value() && !progress.checkpoint_period.has_value()) {
      tell("which step the last checkpoint is of");
    }
  }
  if (!progress.begin.has_value()) {
    tell("any time of day: wall time, and how long steps stay away");
  } else if (has_steps && !done.has_value()) {
    tell("when the last step was done");
  }
  return missing;
}

}  // namespace galen::triage
