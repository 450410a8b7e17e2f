#ifndef SERVICES_EXECUTION_JOB_LOGS_RUN_SERIES_H_
#define SERVICES_EXECUTION_JOB_LOGS_RUN_SERIES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/telemetry/source.h"

namespace galen::job_logs {

// Whether a file has numbers that a training program recorded, by its beginning.
bool IsRun(const std::string& path);

// The numbers that training programs recorded in files: job_log_scalar{run_id, tag},
// job_log_scalar_step and job_log_scalar_step_seconds (common/run_records/records.h).
struct RunFiles {
  std::vector<telemetry::TimeSeries> series;
  std::vector<std::string> others;  // the paths of other files
};

// Reads those of `paths` that are an event file of TensorBoard, a run of Weights & Biases, a metric
// of MLflow, or the text that intake makes of them. A value speaks for the time since the one
// before it, as the value of a step in a log does. CANCELLED, DEADLINE_EXCEEDED.
absl::StatusOr<RunFiles> SeriesOfRuns(absl::Span<const std::string> paths,
                                      const telemetry::Call& call);

}  // namespace galen::job_logs

#endif  // SERVICES_EXECUTION_JOB_LOGS_RUN_SERIES_H_
