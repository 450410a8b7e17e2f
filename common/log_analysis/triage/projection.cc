#include "common/log_analysis/triage/projection.h"

#include <algorithm>

#include "common/log_analysis/triage/step_line.h"

namespace galen::triage {

void ProjectSteps(const StepFormat& format, std::optional<absl::Time> done,
                  std::optional<std::int64_t> saved, JobReport& report) {
  Progress& progress = report.progress;
  if (!progress.last_step.has_value()) return;
  const std::int64_t last = *progress.last_step;
  const std::int64_t left =
      progress.final_step.has_value() ? std::max<std::int64_t>(0, *progress.final_step - last) : 0;
  if (progress.step_seconds.has_value() && *progress.step_seconds > 0) {
    const absl::Duration of_step = absl::Seconds(*progress.step_seconds);
    if (progress.final_step.has_value()) {
      progress.remaining = of_step * static_cast<double>(left);
    }
    const Status status = report.decision.status;
    const bool open = status == Status::kRunning || status == Status::kHanging;
    const std::optional<absl::Time> until = open ? report.now : progress.end;
    if (done.has_value() && until.has_value() && *until > *done && status != Status::kCompleted) {
      const double steps = absl::ToDoubleSeconds(*until - *done) / *progress.step_seconds;
      if (steps < static_cast<double>(kMostSteps)) {
        progress.expected_step = last + static_cast<std::int64_t>(steps);
        if (progress.final_step.has_value()) {
          progress.expected_step = std::min(*progress.expected_step, *progress.final_step);
        }
      }
    }
  }
  if (saved.has_value()) {
    progress.saved_step = *saved;
  } else if (const auto period = progress.checkpoint_period; period.value_or(0) > 0) {
    if (last >= *period) {
      progress.saved_step = last - last % *period;
      progress.saved_by_period = true;
    } else if (progress.restored_step.has_value()) {
      progress.saved_step = progress.restored_step;
      progress.saved_by_period = true;
    } else if (progress.restored == false) {
      progress.lost_steps = last - std::max<std::int64_t>(0, format.first_step) + 1;
    }
  }
  if (progress.saved_step.has_value()) {
    progress.lost_steps = std::max<std::int64_t>(0, last - *progress.saved_step);
  }
}

}  // namespace galen::triage
