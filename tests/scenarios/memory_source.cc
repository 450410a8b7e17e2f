#include "tests/scenarios/memory_source.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/telemetry/selector.h"

namespace galen::scenarios {
namespace {

using telemetry::Answer;
using telemetry::Call;
using telemetry::TimeSeries;

constexpr absl::Duration kLookBack = absl::Minutes(5);

absl::Status StillWanted(const Call& call) {
  if (call.cancellation != nullptr && call.cancellation->cancelled())
    return absl::CancelledError("the caller has gone");
  if (SteadyNow() >= call.deadline) return absl::DeadlineExceededError("the deadline has passed");
  return absl::OkStatus();
}

bool Earlier(const timeseries::Sample& sample, std::int64_t time) { return sample.at < time; }

const timeseries::Sample* LastBefore(const TimeSeries& series, absl::Time at) {
  const auto behind = std::lower_bound(series.samples.begin(), series.samples.end(),
                                       absl::ToUnixMillis(at) + 1, Earlier);
  if (behind == series.samples.begin()) return nullptr;
  const timeseries::Sample& last = *(behind - 1);
  return at - absl::FromUnixMillis(last.at) > kLookBack ? nullptr : &last;
}

bool HasBetween(const TimeSeries& series, absl::Time start, absl::Time end) {
  const auto first = std::lower_bound(series.samples.begin(), series.samples.end(),
                                      absl::ToUnixMillis(start), Earlier);
  return first != series.samples.end() && first->at <= absl::ToUnixMillis(end);
}

}  // namespace

MemorySource::MemorySource(std::string name, std::vector<TimeSeries> series)
    : name_(std::move(name)), series_(std::move(series)) {
  for (std::size_t i = 0; i < series_.size(); ++i)
    by_metric_[series_[i].labels[telemetry::kMetricName]].push_back(i);
}

absl::StatusOr<Answer> MemorySource::Over(const std::string& text, absl::Time start, absl::Time end,
                                          const Call& call, const Each& each) const {
  GALEN_ASSIGN_OR_RETURN(const telemetry::Selector selector, telemetry::Selector::Parse(text));
  Answer answer;
  answer.source = name_;
  answer.query = text;
  answer.start = start;
  answer.end = end;
  const absl::string_view begin = absl::StripLeadingAsciiWhitespace(text);
  std::size_t samples = 0;
  for (const auto& [metric, members] : by_metric_) {
    GALEN_RETURN_IF_ERROR(StillWanted(call));
    // (A selector that begins with a name can be of no other metric.)
    if (!absl::StartsWith(begin, "{") && !absl::StartsWith(begin, metric)) continue;
    for (const std::size_t member : members) {
      if (!selector.Matches(series_[member].labels)) continue;
      const std::size_t before = answer.series.size();
      if (before >= call.limits.series || samples >= call.limits.samples) {
        answer.Incomplete(absl::StrCat("more than ", call.limits.series, " series or ",
                                       call.limits.samples, " samples: cut; ask for fewer"));
        return answer;
      }
      each(series_[member], answer);
      if (answer.series.size() > before) samples += answer.series.back().samples.size();
    }
  }
  return answer;
}

absl::StatusOr<Answer> MemorySource::Instant(const std::string& query, absl::Time at,
                                             const Call& call) {
  return Over(query, at, at, call, [&](const TimeSeries& series, Answer& into) {
    if (const timeseries::Sample* const last = LastBefore(series, at))
      into.series.push_back({series.labels, {*last}});
  });
}

absl::StatusOr<Answer> MemorySource::RangeOf(const std::string& query,
                                             const telemetry::Range& range, const Call& call) {
  GALEN_RETURN_IF_ERROR(telemetry::CheckRange(range, call.limits));
  GALEN_ASSIGN_OR_RETURN(const timeseries::Grid grid,
                         timeseries::MakeGrid(range.start, range.end, range.step));
  GALEN_ASSIGN_OR_RETURN(
      Answer answer,
      Over(query, range.start, range.end, call, [&](const TimeSeries& series, Answer& into) {
        TimeSeries found{series.labels, {}};
        for (std::size_t i = 0; i < grid.size; ++i) {
          if (const timeseries::Sample* const last = LastBefore(series, grid.At(i)))
            found.samples.push_back({absl::ToUnixMillis(grid.At(i)), last->value});
        }
        if (!found.samples.empty()) into.series.push_back(std::move(found));
      }));
  answer.step = range.step;
  return answer;
}

absl::StatusOr<Answer> MemorySource::SeriesOf(const std::string& selector, absl::Time start,
                                              absl::Time end, const Call& call) {
  return Over(selector, start, end, call, [&](const TimeSeries& series, Answer& into) {
    if (HasBetween(series, start, end)) into.series.push_back({series.labels, {}});
  });
}

absl::StatusOr<Answer> MemorySource::Samples(const std::string& selector, absl::Time start,
                                             absl::Time end, const Call& call) {
  return Over(selector, start, end, call, [&](const TimeSeries& series, Answer& into) {
    const auto first = std::lower_bound(series.samples.begin(), series.samples.end(),
                                        absl::ToUnixMillis(start), Earlier);
    const auto behind =
        std::lower_bound(first, series.samples.end(), absl::ToUnixMillis(end) + 1, Earlier);
    if (first != behind) into.series.push_back({series.labels, {first, behind}});
  });
}

absl::StatusOr<std::vector<std::string>> MemorySource::LabelValues(const std::string& label,
                                                                   const std::string& selector,
                                                                   absl::Time start, absl::Time end,
                                                                   const Call& call,
                                                                   bool* complete) {
  std::set<std::string> values;
  Call unlimited = call;
  unlimited.limits.series = series_.size() + 1;
  const std::string all = absl::StrCat("{", telemetry::kMetricName, "!=\"\"}");
  GALEN_RETURN_IF_ERROR(Over(selector.empty() ? all : selector, start, end, unlimited,
                             [&](const TimeSeries& series, Answer&) {
                               const auto value = series.labels.find(label);
                               if (value != series.labels.end() && !value->second.empty() &&
                                   HasBetween(series, start, end))
                                 values.insert(value->second);
                             })
                            .status());
  if (complete != nullptr) *complete = values.size() <= call.limits.series;
  std::vector<std::string> sorted(values.begin(), values.end());
  if (sorted.size() > call.limits.series) sorted.resize(call.limits.series);
  return sorted;
}

}  // namespace galen::scenarios
