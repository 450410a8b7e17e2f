#include "services/execution/job_logs/log_series.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/log_analysis/scan/reader.h"

namespace galen::job_logs {
namespace {

using triage::FactKind;
using triage::Quantity;

// A step that takes longer is told again and again while it lasts: a sample speaks for two minutes.
constexpr absl::Duration kAgain = absl::Minutes(1);
constexpr std::size_t kMostTasks = 100'000;
constexpr absl::Duration kMostOfStep = absl::Hours(1);

}  // namespace

void LogSeries::Watch(triage::TriageOptions& options) {
  options.on_step = [this](const triage::ToldStep& told) { OnStep(told); };
  options.on_fact = [this](const triage::ToldFact& told) { OnFact(told); };
}

void LogSeries::Add(const char* name, absl::Time from, absl::Time to, std::optional<double> value) {
  if (!value.has_value() || !std::isfinite(*value)) return;
  std::vector<timeseries::Sample>& samples = series_[name];
  for (absl::Time at = from + kAgain; at < to; at += kAgain) {
    samples.push_back({absl::ToUnixMillis(at), *value});
  }
  samples.push_back({absl::ToUnixMillis(to), *value});
}

void LogSeries::OnStep(const triage::ToldStep& told) {
  if (told.log != log_) {
    log_ = told.log;
    anchor_.reset();
    last_.reset();
  }
  if (steps_ >= kMostSteps) return;
  const triage::StepLine& step = *told.step;
  const double seconds = step.Seconds().value_or(0);
  std::optional<absl::Time> at = told.time;
  if (!at.has_value()) {
    if (told.near.has_value() && told.near != anchor_) {
      anchor_ = told.near;
      since_ = 0;
    }
    if (!anchor_.has_value() || seconds <= 0) return;
    since_ += seconds;
    at = *anchor_ + absl::Seconds(since_);
  }
  // Steps go forward in time: what was written late of another run says nothing of when.
  if (last_.has_value() && *at < *last_) return;
  const absl::Time from = std::max(last_.value_or(absl::InfinitePast()),
                                   *at - std::min(absl::Seconds(seconds), kMostOfStep));
  last_ = at;
  ++steps_;
  Add("job_log_step", *at, *at, static_cast<double>(step.step));
  std::optional<double> of_step = step.Seconds();
  Add("job_log_step_seconds", from, *at, of_step);
  std::optional<double> samples = step.Get(Quantity::kSamples);
  if (!samples.has_value() && step.Has(Quantity::kBatch) && seconds > 0) {
    samples = *step.Get(Quantity::kBatch) / seconds;
  }
  Add("job_log_samples_per_second", from, *at, samples);
  Add("job_log_tokens_per_second", from, *at, step.Get(Quantity::kTokens));
  Add("job_log_tokens_per_gpu_second", from, *at, step.Get(Quantity::kTokensPerGpu));
  Add("job_log_loss", from, *at, step.Get(Quantity::kLoss));
}

void LogSeries::OnFact(const triage::ToldFact& told) {
  switch (told.kind) {
    case FactKind::kHeartbeatTimeout:
      if (told.number.value_or(0) > 0) timeout_ = static_cast<double>(*told.number);
      break;
    case FactKind::kTaskHost:
      if (told.number.has_value() && !told.text.empty() && hosts_.size() < kMostTasks) {
        hosts_.try_emplace(*told.number, told.text);
      }
      break;
    case FactKind::kAccused:
      if (told.number.has_value() && accused_.size() < kMostTasks) {
        auto& at = accused_[*told.number];
        if (!at.has_value()) at = told.time;
      }
      break;
    default:
      break;
  }
}

std::vector<telemetry::TimeSeries> LogSeries::Take(std::optional<absl::Time> end) const {
  std::vector<telemetry::TimeSeries> all;
  for (const auto& [name, samples] : series_) {
    all.push_back({{{telemetry::kMetricName, name}}, samples});
  }
  // All are given up at once: what tells the time of one tells it of all.
  std::optional<absl::Time> kill;
  for (const auto& [task, at] : accused_) {
    if (at.has_value() && (!kill.has_value() || *at < *kill)) kill = at;
  }
  if (!kill.has_value()) kill = end;
  for (const auto& [task, at] : accused_) {
    const auto host = hosts_.find(task);
    if (host == hosts_.end() || !kill.has_value()) continue;
    all.push_back({{{telemetry::kMetricName, "job_log_accused_timeout_seconds"},
                    {"host", host->second},
                    {"rank", absl::StrCat(task)}},
                   {{absl::ToUnixMillis(*kill), timeout_.value_or(kUsualTimeout)}}});
  }
  return all;
}

absl::StatusOr<std::vector<telemetry::TimeSeries>> SeriesOfLogs(
    const triage::CompiledCatalogue& catalogue, absl::Span<const std::string> paths,
    std::optional<absl::Time> near, const telemetry::Call& call) {
  LogSeries series;
  triage::TriageOptions options;
  options.near = near;
  series.Watch(options);
  triage::JobTriage job(catalogue, options);
  for (const std::string& path : paths) {
    const auto reader = log_scan::LogReader::Open(path, {});
    if (!reader.ok()) continue;
    job.BeginLog(path);
    for (;;) {
      if (SteadyNow() > call.deadline)
        return absl::DeadlineExceededError("the logs of the job took too long to read");
      if (call.cancellation != nullptr && call.cancellation->cancelled())
        return absl::CancelledError("the call was cancelled");
      const auto chunk = (*reader)->Next();
      if (!chunk.ok() || chunk->empty()) break;
      job.Feed(*chunk);
    }
    job.EndLog();
  }
  const triage::JobReport report = job.Finish();
  std::vector<telemetry::TimeSeries> all = series.Take(report.progress.end);
  if (all.empty()) return absl::NotFoundError("the logs tell no step whose time is known");
  return all;
}

}  // namespace galen::job_logs
