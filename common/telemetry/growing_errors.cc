#include "common/telemetry/growing_errors.h"

#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace galen::telemetry {
namespace {

// Each is a question of its own; an exporter that nobody mapped has some dozens.
constexpr std::size_t kMostMetrics = 64;

double GrowthOf(const std::vector<timeseries::Sample>& samples) {
  double growth = 0;
  double last = timeseries::kUnknown;
  for (const timeseries::Sample& sample : samples) {
    if (!std::isfinite(sample.value)) continue;
    // After a reset it counts from nothing.
    if (std::isfinite(last)) growth += sample.value >= last ? sample.value - last : sample.value;
    last = sample.value;
  }
  return growth;
}

}  // namespace

absl::StatusOr<std::vector<GrowingError>> FindGrowingErrors(
    NamedSource& source, const Rules& rules, absl::Time start, absl::Time end,
    const std::set<std::string>& read, const std::function<bool(const Place&)>& wanted,
    const Call& call, bool& complete) {
  complete = complete && source.all_metrics();
  std::vector<GrowingError> growing;
  std::size_t asked = 0;
  for (const std::string& metric : source.metrics()) {
    const Family* const family = rules.FamilyOf(metric);
    if (family == nullptr || family->errors == nullptr || family->clears.empty() ||
        read.contains(metric) || !re2::RE2::PartialMatch(metric, *family->errors) ||
        rules.WaiverOf(metric) != nullptr) {
      continue;
    }
    if (++asked > kMostMetrics) {
      complete = false;
      break;
    }
    const std::int64_t seconds = std::max<std::int64_t>(60, (end - start) / absl::Seconds(1));
    GALEN_ASSIGN_OR_RETURN(
        Answer answer,
        source.evaluates()
            ? source.Instant(absl::StrCat("increase(", metric, "[", seconds, "s]) > 0"), end, call)
            : source.Samples(metric, start, end, call));
    complete = complete && answer.complete;
    for (TimeSeries& series : answer.series) {
      series.labels[kMetricName] = metric;
      Place place = rules.PlaceOf(series.labels);
      if (wanted != nullptr && !wanted(place)) continue;
      const double growth = !source.evaluates()      ? GrowthOf(series.samples)
                            : series.samples.empty() ? 0
                                                     : series.samples.back().value;
      if (growth > 0) growing.push_back({family->clears, metric, std::move(place), growth});
    }
  }
  return growing;
}

}  // namespace galen::telemetry
