#ifndef SERVICES_EXECUTION_JOB_LOGS_LOG_SERIES_H_
#define SERVICES_EXECUTION_JOB_LOGS_LOG_SERIES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/log_analysis/triage/job_triage.h"
#include "common/telemetry/source.h"

namespace galen::job_logs {

// Makes series of what the logs of a job say of its steps, and of whom a coordinator gave up:
// job_log_step, job_log_step_seconds, job_log_tokens_per_second, job_log_tokens_per_gpu_second,
// job_log_samples_per_second, job_log_loss, and job_log_accused_timeout_seconds of each accused
// machine (labels host and rank). A step whose time no line tells is placed by the steps since the
// last time that one told; where no line tells any, there is no series.
class LogSeries {
 public:
  // Put into the options of the JobTriage that reads the logs; this must outlive it.
  void Watch(triage::TriageOptions& options);
  // The series so far; `end`: when the logs end, for accusations without a time of their own.
  std::vector<telemetry::TimeSeries> Take(std::optional<absl::Time> end) const;

  // JAX's own timeout, used if no log reports another one.
  static constexpr double kUsualTimeout = 100;
  static constexpr std::size_t kMostSteps = 50'000;

 private:
  void OnStep(const triage::ToldStep& told);
  void OnFact(const triage::ToldFact& told);
  void Add(const char* name, absl::Time from, absl::Time to, std::optional<double> value);

  // State of the log being read.
  std::size_t log_ = 0;
  std::optional<absl::Time> anchor_;
  double since_ = 0;
  std::optional<absl::Time> last_;  // the last step that was placed
  std::size_t steps_ = 0;
  std::map<std::string, std::vector<timeseries::Sample>> series_;
  std::optional<double> timeout_;
  std::map<std::int64_t, std::string> hosts_;  // by task
  std::map<std::int64_t, std::optional<absl::Time>> accused_;
};

// The series of these logs, read whole. NOT_FOUND: the logs have no data for a series. `near`: see
// TriageOptions.
absl::StatusOr<std::vector<telemetry::TimeSeries>> SeriesOfLogs(
    const triage::CompiledCatalogue& catalogue, absl::Span<const std::string> paths,
    std::optional<absl::Time> near, const telemetry::Call& call);

}  // namespace galen::job_logs

#endif  // SERVICES_EXECUTION_JOB_LOGS_LOG_SERIES_H_
