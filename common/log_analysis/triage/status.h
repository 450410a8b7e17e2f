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
  kUnknown,  // the log does not tell
  kCompleted,
  kFailed,
  kCancelled,
  kRunning,
  kHanging,
  kUnknownDeath,  // it is over, and the log does not tell how
};

enum class SchedulerState { kUnknown, kRunning, kEnded };

// What tells the status of a job.
struct Evidence {
  // The exit code that the job's own wrapper printed at its end.
  std::optional<int> summary_code;
  // The program came to its end by itself; or ended before its last step, as it was told to.
  bool finished = false;
  bool planned_end = false;
  // The last of what ended the job and did not let it go on.
  Ends ended_by = Ends::kNothing;
  // A process ended with a code or signal that is an error, SIGINT and SIGTERM apart; with those.
  bool bad_exit = false;
  bool asked_to_stop = false;

  std::int64_t last_step = -1;  // -1: none
  // All steps that were asked for are done; nothing where it is not known how many these are.
  std::optional<bool> all_steps;

  SchedulerState scheduler = SchedulerState::kUnknown;
  // The moment that is asked about; and by when the last step was done, or before the first one
  // training began. A file's time of change is neither.
  std::optional<absl::Time> now;
  std::optional<absl::Time> progress;
  // From the end of the steps to the end of the job: how long nothing was done that the log tells.
  std::optional<absl::Duration> idle_before_end;
  std::optional<double> step_seconds;
};

struct Decision {
  Status status = Status::kUnknown;
  // Completed, although an exit code or a signal says that it failed.
  bool soft = false;
  // Steps stayed away long before it ended, or do so now.
  bool stalled = false;
  std::string why;  // one sentence
};

// How long steps may stay away before they have stopped. Pure.
absl::Duration StallLimit(const Evidence& evidence, const Limits& limits);

// Pure.
Decision Decide(const Evidence& evidence, const Limits& limits);

// "unknown-death". Pure.
absl::string_view ToString(Status status);

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_STATUS_H_
