#include "common/telemetry/source.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace galen::telemetry {
namespace {

constexpr std::size_t kMostSourceWarnings = 16;
constexpr std::size_t kMostWarning = 300;
constexpr std::size_t kMostShown = 300;

}  // namespace

std::string ShowLabels(const Labels& labels) {
  const auto name = labels.find(kMetricName);
  std::string shown = name == labels.end() ? "" : name->second;
  absl::string_view between = "{";
  for (const auto& [label, value] : labels) {
    if (label == kMetricName || label == kMachine) continue;
    absl::StrAppend(&shown, between, label, "=\"", value, "\"");
    between = ",";
    if (shown.size() > kMostShown) break;
  }
  if (between == ",") shown += "}";
  return CleanText(shown, kMostShown);
}

void Answer::Warn(absl::string_view warning) {
  if (warnings.size() < kMostSourceWarnings) warnings.push_back(CleanText(warning, kMostWarning));
}

void Answer::Incomplete(absl::string_view why) {
  complete = false;
  Warn(why);
}

Reading Last(const Answer& answer, const Labels& labels, absl::Time now, absl::Duration most_age) {
  const TimeSeries* found = nullptr;
  for (const TimeSeries& series : answer.series) {
    bool matches = true;
    for (const auto& [name, value] : labels) {
      const auto at = series.labels.find(name);
      matches = matches && at != series.labels.end() && at->second == value;
    }
    if (!matches) continue;
    if (found != nullptr)
      return Reading::Unknown(absl::StrCat("more than one series has ", ShowLabels(labels)));
    found = &series;
  }
  if (found == nullptr || found->samples.empty()) {
    return Reading::Unknown(absl::StrCat(
        answer.complete ? "no series has " : "the answer is incomplete; in it no series has ",
        ShowLabels(labels)));
  }
  const timeseries::Sample& last = found->samples.back();
  const absl::Time at = absl::FromUnixMillis(last.at);
  if (!std::isfinite(last.value)) return Reading::Unknown("the last sample is not a number");
  if (now - at > most_age) {
    return Reading::Unknown(
        absl::StrCat("the last sample is ",
                     absl::FormatDuration(absl::Trunc(now - at, absl::Seconds(1))), " old"));
  }
  return Reading::Of(last.value, at);
}

absl::Status CheckRange(const Range& range, const Limits& limits) {
  GALEN_ASSIGN_OR_RETURN(const timeseries::Grid grid,
                         timeseries::MakeGrid(range.start, range.end, range.step));
  if (grid.size > limits.points) {
    return absl::InvalidArgumentError(absl::StrCat("range: ", grid.size,
                                                   " points a series are more than ", limits.points,
                                                   "; take a longer step or a shorter range"));
  }
  return absl::OkStatus();
}

}  // namespace galen::telemetry
