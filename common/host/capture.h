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
  // Where the bundle goes: a new or empty directory.
  std::string directory;
  // `description`, the window, `workload` and `environment` are kept, without the secrets in them;
  // nodes and logs are set here.
  v1::Incident incident;
  // Logs to take along; secrets are taken out of them too, and of their names.
  struct Log {
    std::string path;
    LogDetails details;
  };
  std::vector<Log> logs;
  // Values of placeholders of the plan that the host does not tell: peer, pod, job, job_pid.
  Placeholders values;
  // Time of the capture.
  absl::Time now;
  // Commands and files read at the same time.
  int parallel = 16;
  // What has not been begun by then is refused, so that a machine on which everything hangs does
  // not hold up the rest: what takes longest is what one command may take, beyond this.
  absl::Time begin_by = absl::InfiniteFuture();
  // Takes out the customer's paths too, as the plan knows them.
  bool redact_paths = false;
};

// What a capture came to.
struct CaptureSummary {
  std::string directory;
  int commands = 0;   // with output
  int absent = 0;     // programs that are not installed
  int timed_out = 0;  // programs that gave no answer
  int files = 0;
  std::vector<std::string> refused;   // what could not be captured, and why
  std::vector<std::string> redacted;  // what was taken out, and where
};

// Captures `host` as a bundle with one node. What the host refuses, lacks or does not answer is
// recorded as such and fails nothing.
//
// ALREADY_EXISTS the directory is not empty; INVALID_ARGUMENT the host's name is no host name;
// NOT_FOUND, PERMISSION_DENIED a log, or the directory; RESOURCE_EXHAUSTED the disk is full. After
// an error the directory holds no bundle.yaml.
absl::StatusOr<CaptureSummary> Capture(const Host& host, const CapturePlan& plan,
                                       const CaptureOptions& options);

}  // namespace galen::host

#endif  // COMMON_HOST_CAPTURE_H_
