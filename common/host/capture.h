#ifndef COMMON_HOST_CAPTURE_H_
#define COMMON_HOST_CAPTURE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/host/capture_plan.h"
#include "common/host/edit.h"
#include "common/host/host.h"
#include "galen/v1/incident.pb.h"

namespace galen::host {

struct CaptureOptions {
  // Directory for the bundle: new or empty.
  std::string directory;
  // `description`, the window, `workload` and `environment` are kept, with secrets masked; nodes
  // and logs are set by the capture.
  v1::Incident incident;
  // Logs to include; secrets in them and in their names are masked too.
  struct Log {
    std::string path;
    LogDetails details;
  };
  std::vector<Log> logs;
  // Values of placeholders of the plan that the host does not know: peer, pod, job, job_pid.
  Placeholders values;
  // Time of the capture.
  absl::Time now;
  // Number of commands and files read in parallel.
  int parallel = 16;
  // Commands and files that have not started by then are refused, so that a machine on which
  // everything hangs does not delay the rest. The capture ends at most one command's time limit
  // later.
  absl::Time begin_by = absl::InfiniteFuture();
  // Also mask the customer's paths, by the patterns of the plan.
  bool redact_paths = false;
};

// Result of a capture.
struct CaptureSummary {
  std::string directory;
  int commands = 0;   // with output
  int absent = 0;     // programs that are not installed
  int timed_out = 0;  // programs that did not answer
  int files = 0;
  std::vector<std::string> refused;   // what could not be captured, and why
  std::vector<std::string> redacted;  // what was masked, and where
};

// Captures `host` as a bundle with one node. Data that the host refuses, lacks or does not return
// is recorded as such and is not an error.
//
// ALREADY_EXISTS the directory is not empty; INVALID_ARGUMENT the host's name is not a valid host
// name; NOT_FOUND, PERMISSION_DENIED a log, or the directory; RESOURCE_EXHAUSTED the disk is full.
// After an error the directory has no bundle.yaml.
absl::StatusOr<CaptureSummary> Capture(const Host& host, const CapturePlan& plan,
                                       const CaptureOptions& options);

}  // namespace galen::host

#endif  // COMMON_HOST_CAPTURE_H_
