#include "services/execution/job_logs/run_series.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/log_analysis/scan/reader.h"
#include "common/run_records/read_run.h"
#include "common/telemetry/open_metrics.h"

namespace galen::job_logs {
namespace {

// As in the series of logs: a sample speaks for two minutes, and is told again while its time
// lasts.
constexpr std::int64_t kAgainMs = 60'000;
constexpr std::int64_t kMostOfValueMs = 3'600'000;
constexpr std::size_t kMostSamples = 4'000'000;
constexpr std::size_t kMostSeries = 10'000;
constexpr std::size_t kLooked = 4096;

absl::Status StillWanted(const telemetry::Call& call) {
  if (SteadyNow() > call.deadline) {
    return absl::DeadlineExceededError("the numbers of the job took too long to read");
  }
  if (call.cancellation != nullptr && call.cancellation->cancelled()) {
    return absl::CancelledError("the call was cancelled");
  }
  return absl::OkStatus();
}

class RunReader {
 public:
  explicit RunReader(const telemetry::Call& call) : call_(call) {}

  absl::Status Read(const std::string& path, RunFiles& files) {
    const auto reader = log_scan::LogReader::Open(path, {});
    if (!reader.ok()) return absl::OkStatus();
    const absl::StatusOr<absl::string_view> first = (*reader)->Next();
    const std::string head = first.ok() ? std::string(*first) : "";
    bool given = false;
    absl::Status unwanted;
    const run_records::ByteSource source = [&]() -> absl::StatusOr<absl::string_view> {
      if (!std::exchange(given, true)) return absl::string_view(head);
      unwanted = StillWanted(call_);
      if (!unwanted.ok()) return unwanted;
      return (*reader)->Next();
    };
    const run_records::Form form = run_records::FormOf(head);
    if (form != run_records::Form::kNone) {
      run_records::ReadRun(form, path, source, records_);
    } else if (absl::StartsWith(head, run_records::kFirstLine)) {
      GALEN_RETURN_IF_ERROR(ReadText(source));
    } else {
      files.others.push_back(path);
    }
    return unwanted;
  }

  std::vector<telemetry::TimeSeries> Take() {
    for (const run_records::NamedSeries& each : run_records::Named(std::move(records_).Take())) {
      telemetry::Labels labels = {{telemetry::kMetricName, each.name}, {"run_id", each.run}};
      if (!each.tag.empty()) labels["tag"] = each.tag;
      std::vector<timeseries::Sample>& samples = texts_[labels];
      for (const run_records::Point& point : each.points) {
        samples.push_back({point.at, point.value});
      }
    }
    std::vector<telemetry::TimeSeries> all;
    for (auto& [labels, samples] : texts_) all.push_back({labels, Lasting(std::move(samples))});
    return all;
  }

 private:
  // Reads the text that run_records::AsOpenMetrics() wrote.
  absl::Status ReadText(const run_records::ByteSource& source) {
    telemetry::OpenMetricsReader reader;
    const auto sink = [this](telemetry::MetricLine line) {
      // Other names would pass for what a log tells.
      const bool ours = absl::StartsWith(line.labels[telemetry::kMetricName], run_records::kScalar);
      if (!ours || !line.at.has_value() || read_ >= kMostSamples) return absl::OkStatus();
      if (texts_.size() >= kMostSeries && texts_.count(line.labels) == 0) return absl::OkStatus();
      texts_[std::move(line.labels)].push_back({*line.at, line.value});
      ++read_;
      return absl::OkStatus();
    };
    for (;;) {
      const absl::StatusOr<absl::string_view> piece = source();
      if (!piece.ok() || piece->empty()) break;
      GALEN_RETURN_IF_ERROR(reader.Take(*piece, sink));
    }
    return reader.Finish(sink);
  }

  std::vector<timeseries::Sample> Lasting(std::vector<timeseries::Sample> samples) {
    std::stable_sort(
        samples.begin(), samples.end(),
        [](const timeseries::Sample& a, const timeseries::Sample& b) { return a.at < b.at; });
    std::vector<timeseries::Sample> lasting;
    std::optional<std::int64_t> before;
    for (const timeseries::Sample& sample : samples) {
      if (!std::isfinite(sample.value)) continue;
      const std::int64_t from = std::max(before.value_or(sample.at), sample.at - kMostOfValueMs);
      for (std::int64_t at = from + kAgainMs; at < sample.at && given_ < kMostSamples;
           at += kAgainMs) {
        lasting.push_back({at, sample.value});
        ++given_;
      }
      lasting.push_back(sample);
      before = sample.at;
    }
    return lasting;
  }

  const telemetry::Call& call_;
  run_records::RunRecords records_;
  std::map<telemetry::Labels, std::vector<timeseries::Sample>> texts_;
  std::size_t read_ = 0;
  std::size_t given_ = 0;
};

}  // namespace

bool IsRun(const std::string& path) {
  // A bundle may have thousands of logs: of one that is not packed only the beginning is read.
  char begin[kLooked] = "";
  std::ifstream file(path, std::ios::binary);
  file.read(begin, sizeof(begin));
  absl::string_view head(begin, static_cast<std::size_t>(file.gcount()));
  std::unique_ptr<log_scan::LogReader> reader;
  if (absl::StartsWith(head, "\x1f\x8b") || absl::StartsWith(head, "\x28\xb5\x2f\xfd")) {
    auto opened = log_scan::LogReader::Open(path, {});
    if (!opened.ok()) return false;
    reader = *std::move(opened);
    const absl::StatusOr<absl::string_view> first = reader->Next();
    if (!first.ok()) return false;
    head = *first;
  }
  return absl::StartsWith(head, run_records::kFirstLine) ||
         run_records::FormOf(head) != run_records::Form::kNone;
}

absl::StatusOr<RunFiles> SeriesOfRuns(absl::Span<const std::string> paths,
                                      const telemetry::Call& call) {
  RunFiles files;
  RunReader reader(call);
  for (const std::string& path : paths) GALEN_RETURN_IF_ERROR(reader.Read(path, files));
  files.series = reader.Take();
  return files;
}

}  // namespace galen::job_logs
