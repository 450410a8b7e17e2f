#ifndef COMMON_LOG_ANALYSIS_TRIAGE_STATUS_H_
#define COMMON_LOG_ANALYSIS_TRIAGE_STATUS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/log_analysis/triage/catalogue.h"

namespace galen::triage {

enum class Status {
  kUnknown,  // the log does not show it
  kCompleted,
  kFailed,
  kCancelled,
  kRunning,
  kHanging,
  kUnknownDeath,  // it is over, and the log does not show how
};

enum class SchedulerState { kUnknown, kRunning, kEnded };

// Evidence for the status of a job.
struct Evidence {
  // The exit code that the job's own wrapper printed at its end.
  std::optional<int> summary_code;
  // The program ended normally; or before its last step, as configured.
  bool finished = false;
  bool planned_end = false;
  // The last event that ended the job for good.
  Ends ended_by = Ends::kNothing;
  // A process ended with an error code or signal other than SIGINT and SIGTERM; or with one of
  // these.
  bool bad_exit = false;
  bool asked_to_stop = false;

  std::int64_t last_step = -1;  // -1: none
  // All requested steps are done; nothing: their number is unknown.
  std::optional<bool> all_steps;

  SchedulerState scheduler = SchedulerState::kUnknown;
  // The time for which the status is wanted; and the time by which the last step was done, or at
  // which training began if there is no step yet. Neither is the modification time of a file.
  std::optional<absl::Time> now;
  std::optional<absl::Time> progress;
  // Time without visible progress from the end of the steps to the end of the job.
  std::optional<absl::Duration> idle_before_end;
  std::optional<double> step_seconds;
};

struct Decision {
  Status status = Status::kUnknown;
  // Completed, although an exit code or a signal indicates a failure.
  bool soft = false;
  // No step came for a long time before it ended, or until now.
  bool stalled = false;
  std::string why;  // one sentence
};

// Maximum time without a step before the job counts as stalled. Pure.
absl::Duration StallLimit(const Evidence& evidence, const Limits& limits);

// Pure.
Decision Decide(const Evidence& evidence, const Limits& limits);

// "unknown-death". Pure.
absl::string_view ToString(Status status);

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_STATUS_H_
