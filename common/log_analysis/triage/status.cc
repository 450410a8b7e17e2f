#include "common/log_analysis/triage/status.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace galen::triage {
namespace {

constexpr int kInterrupted = 130;
constexpr int kTerminated = 143;

std::string Round(absl::Duration duration) {
  return absl::FormatDuration(absl::Trunc(duration, absl::Seconds(1)));
}

Decision Make(Status status, std::string why) {
  Decision decision;
  decision.status = status;
  decision.why = std::move(why);
  return decision;
}

// Decides for a job without any sign of its end.
Decision DecideOpen(const Evidence& evidence, const Limits& limits) {
  switch (evidence.scheduler) {
    case SchedulerState::kEnded:
      return Make(Status::kUnknownDeath,
                  "the scheduler says that the job is over, and the log does not mention its end");
    case SchedulerState::kUnknown:
      return Make(Status::kUnknown,
                  "the log does not say how the job ended, and whether it still runs is unknown");
    case SchedulerState::kRunning:
      break;
  }
  if (!evidence.now.has_value() || !evidence.progress.has_value()) {
    return Make(
        Status::kUnknown,
        evidence.last_step >= 0
            ? "the scheduler says that the job runs; the time of its last step is unknown"
            : "the scheduler says that the job runs; the log shows no step, and not when steps "
              "were due to begin");
  }
  const absl::Duration away = *evidence.now - *evidence.progress;
  const absl::Duration limit = StallLimit(evidence, limits);
  if (away <= limit) {
    return Make(Status::kRunning, absl::StrCat("the last sign of progress is ", Round(away),
                                               " old, and up to ", Round(limit), " is usual"));
  }
  Decision decision =
      Make(Status::kHanging,
           absl::StrCat("the scheduler says that the job runs, and for ", Round(away),
                        evidence.last_step >= 0 ? " no step was done; " : " no first step came; ",
                        Round(limit), " would be usual"));
  decision.stalled = true;
  return decision;
}

}  // namespace

absl::Duration StallLimit(const Evidence& evidence, const Limits& limits) {
  if (evidence.last_step < 0) return limits.setup;
  if (!evidence.step_seconds.has_value()) return std::max(limits.stall, limits.setup);
  return std::max(limits.stall, absl::Seconds(*evidence.step_seconds * limits.stall_steps));
}

Decision Decide(const Evidence& evidence, const Limits& limits) {
  const bool all_steps = evidence.all_steps.value_or(false);
  const auto with_stall = [&](Decision decision) {
    decision.stalled = evidence.idle_before_end.has_value() &&
                       *evidence.idle_before_end > StallLimit(evidence, limits);
    return decision;
  };
  const bool bad_end = evidence.bad_exit || evidence.asked_to_stop ||
                       evidence.ended_by != Ends::kNothing ||
                       evidence.summary_code.value_or(0) != 0;
  if (evidence.summary_code == 0) {
    return Make(Status::kCompleted, "the job's summary says that it succeeded");
  }
  if (all_steps || evidence.finished) {
    Decision decision =
        Make(Status::kCompleted, evidence.finished ? "the program reports a normal end"
                                                   : "all requested steps are done");
    decision.soft = bad_end;
    if (bad_end) decision.why += "; other failures did not stop it";
    return decision;
  }
  if (evidence.planned_end && evidence.ended_by != Ends::kFailed) {
    return Make(Status::kCompleted, "the program ended before its last step, as configured");
  }
  if (evidence.summary_code.has_value()) {
    const int code = *evidence.summary_code;
    if (code == kInterrupted || code == kTerminated) {
      return with_stall(Make(Status::kCancelled,
                             absl::StrCat("the job's summary says that it ended with ", code)));
    }
    return with_stall(
        Make(Status::kFailed, absl::StrCat("the job's summary says that it ended with ", code)));
  }
  // A hanging job may have logged a failure, but it has not failed while it runs.
  if (evidence.scheduler == SchedulerState::kRunning) return DecideOpen(evidence, limits);
  if (evidence.ended_by == Ends::kCancelled) {
    return with_stall(Make(Status::kCancelled, "the scheduler ended the job"));
  }
  if (evidence.ended_by == Ends::kFailed) {
    return with_stall(Make(Status::kFailed, "the log shows a failure, and no step after it"));
  }
  if (evidence.bad_exit) {
    return with_stall(Make(Status::kFailed, "a process ended with an error"));
  }
  if (evidence.asked_to_stop) {
    return with_stall(Make(Status::kCancelled, "processes were asked to stop"));
  }
  return DecideOpen(evidence, limits);
}

absl::string_view ToString(Status status) {
  switch (status) {
    case Status::kUnknown:
      return "unknown";
    case Status::kCompleted:
      return "completed";
    case Status::kFailed:
      return "failed";
    case Status::kCancelled:
      return "cancelled";
    case Status::kRunning:
      return "running";
    case Status::kHanging:
      return "hanging";
    case Status::kUnknownDeath:
      return "unknown-death";
  }
  return "unknown";
}

}  // namespace galen::triage
