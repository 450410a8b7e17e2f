#include "services/execution/job_logs/overlay_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/telemetry/selector.h"

namespace galen::job_logs {
namespace {

using telemetry::Answer;
using telemetry::Call;
using telemetry::TimeSeries;

constexpr char kPrefix[] = "job_log_";

}  // namespace

OverlaySource::OverlaySource(std::shared_ptr<telemetry::Source> base, std::vector<TimeSeries> more)
    : base_(std::move(base)), more_(std::move(more)) {}

absl::StatusOr<Answer> OverlaySource::Instant(const std::string& query, absl::Time at,
                                              const Call& call) {
  return base_->Instant(query, at, call);
}

absl::StatusOr<Answer> OverlaySource::RangeOf(const std::string& query,
                                              const telemetry::Range& range, const Call& call) {
  return base_->RangeOf(query, range, call);
}

absl::StatusOr<Answer> OverlaySource::Own(const std::string& selector, absl::Time start,
                                          absl::Time end, bool samples) const {
  GALEN_ASSIGN_OR_RETURN(const telemetry::Selector chosen, telemetry::Selector::Parse(selector));
  Answer answer;
  answer.source = "the job's log";
  answer.query = selector;
  answer.start = start;
  answer.end = end;
  for (const TimeSeries& series : more_) {
    if (!chosen.Matches(series.labels)) continue;
    TimeSeries found{series.labels, {}};
    for (const timeseries::Sample& sample : series.samples) {
      const absl::Time at = absl::FromUnixMillis(sample.at);
      if (at >= start && at <= end) found.samples.push_back(sample);
    }
    if (found.samples.empty()) continue;
    if (!samples) found.samples.clear();
    answer.series.push_back(std::move(found));
  }
  return answer;
}

absl::StatusOr<Answer> OverlaySource::Samples(const std::string& selector, absl::Time start,
                                              absl::Time end, const Call& call) {
  if (absl::StartsWith(selector, kPrefix)) return Own(selector, start, end, true);
  return base_->Samples(selector, start, end, call);
}

absl::StatusOr<Answer> OverlaySource::SeriesOf(const std::string& selector, absl::Time start,
                                               absl::Time end, const Call& call) {
  // As discovery asks.
  if (absl::StrContains(selector, kPrefix)) return Own(selector, start, end, false);
  return base_->SeriesOf(selector, start, end, call);
}

absl::StatusOr<std::vector<std::string>> OverlaySource::LabelValues(
    const std::string& label, const std::string& selector, absl::Time start, absl::Time end,
    const Call& call, bool* complete) {
  GALEN_ASSIGN_OR_RETURN(std::vector<std::string> values,
                         base_->LabelValues(label, selector, start, end, call, complete));
  if (!selector.empty()) return values;
  for (const TimeSeries& series : more_) {
    const auto found = series.labels.find(label);
    if (found != series.labels.end()) values.push_back(found->second);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace galen::job_logs
