// SeriesTests that compare two times: a job with one that ran well, or with itself before.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/timeseries/robust.h"
#include "services/execution/playbook/series_test_parts.h"

namespace galen::playbook {
namespace {

using timeseries::IsKnown;
using timeseries::kUnknown;

// The increase of each place over the earlier time; for a place that is new, over the median of the
// earlier places.
struct Deltas {
  std::vector<float> values;
  float of_all = kUnknown;  // median
  float before = kUnknown;
};
Deltas DeltasOf(const SeriesTestInput& input) {
  Deltas deltas;
  if (input.before.empty()) return deltas;
  const Rows& now = *input.of[0];
  const Rows& then = *input.before[0];
  std::vector<float> medians;
  for (std::size_t i = 0; i < then.places.size(); ++i) {
    medians.push_back(timeseries::Median(then.values.Row(i)));
  }
  deltas.before = timeseries::Median(medians);
  for (std::size_t i = 0; i < now.places.size(); ++i) {
    const auto row = now.values.Row(i);
    const float level = timeseries::Median(
        row.subspan(input.activity.begin, input.activity.end - input.activity.begin));
    const int other = RowOf(then, now.places[i]);
    const float before = other < 0 ? deltas.before : medians[static_cast<std::size_t>(other)];
    deltas.values.push_back(level - before);
  }
  deltas.of_all = timeseries::Median(deltas.values);
  return deltas;
}

std::vector<SeriesTestResult> MoreThanBefore(const SeriesTestInput& input) {
  const Rows& now = *input.of[0];
  std::vector<SeriesTestResult> seen;
  if (!input.before.empty()) {
    const Deltas deltas = DeltasOf(input);
    for (std::size_t i = 0; i < now.places.size(); ++i) {
      if (!IsKnown(deltas.values[i])) {
        seen.push_back(Unknown(now.places[i], "one of both times is not known"));
        continue;
      }
      seen.push_back({now.places[i], static_cast<double>(deltas.values[i]),
                      absl::StrCat("beside ", Short(static_cast<double>(deltas.before)),
                                   " at the time that it is compared with"),
                      static_cast<int>(i)});
    }
    return seen;
  }
  // Without such a time: beside the others.
  std::vector<float> medians;
  for (std::size_t i = 0; i < now.places.size(); ++i) {
    medians.push_back(timeseries::Median(now.values.Row(i)));
  }
  const float usual = timeseries::Median(medians);
  for (std::size_t i = 0; i < now.places.size(); ++i) {
    if (!IsKnown(medians[i]) || timeseries::KnownOf(medians).size() < 4) {
      seen.push_back(Unknown(now.places[i],
                             "no time to compare with, and too few others; name a time at which "
                             "it was well (baseline)"));
      continue;
    }
    seen.push_back({now.places[i], static_cast<double>(medians[i] - usual),
                    absl::StrCat("beside ", Short(static_cast<double>(usual)), " of its peers"),
                    static_cast<int>(i)});
  }
  return seen;
}

// Whether all places changed alike, and by enough to tell.
std::vector<SeriesTestResult> AllAlike(const SeriesTestInput& input) {
  if (input.before.empty()) {
    return {Unknown({},
                    "no time to compare with; name a time at which it was well (baseline), or "
                    "keep the numbers of a job that ran well")};
  }
  const Deltas deltas = DeltasOf(input);
  const std::vector<float> known = timeseries::KnownOf(deltas.values);
  if (known.size() < 2) return {Unknown({}, "too few places are known at both times")};
  const auto middle = static_cast<double>(deltas.of_all);
  const double within =
      std::max(input.Number("within_share") * std::abs(middle), input.Number("within"));
  const auto alike = std::count_if(known.begin(), known.end(), [&](float value) {
    return std::abs(static_cast<double>(value) - middle) <= within;
  });
  const double share = static_cast<double>(alike) / static_cast<double>(known.size());
  const bool enough = std::abs(middle) >= input.Number("least");
  return {{{},
           enough && share >= input.Number("least_share"),
           absl::StrCat("median change ", Short(middle), ", ", alike, " of ", known.size(),
                        " places alike"),
           enough ? 0 : -1}};
}

// How much less throughput the job has than at the other time; %.
std::vector<SeriesTestResult> LossBeside(const SeriesTestInput& input) {
  if (input.before.empty()) return {Unknown({}, "no time to compare with (baseline)")};
  if (!input.activity.known) return {Unknown({}, "the throughput of the job is not known")};
  const std::vector<float> then = MedianOf(*input.before[0]);
  const auto before = static_cast<double>(timeseries::Median(then));
  const auto now = static_cast<double>(timeseries::Median(
      absl::MakeConstSpan(input.activity.throughput)
          .subspan(input.activity.begin, input.activity.end - input.activity.begin)));
  if (!(before > 0) || !std::isfinite(now)) return {Unknown({}, "one of both is not known")};
  return {{{},
           100 * (1 - now / before),
           absl::StrCat(Short(now), " beside ", Short(before), " ", input.activity.unit),
           -1}};
}

}  // namespace

std::vector<SeriesTest> CompareTests() {
  return {
      {"more_than_before",
       "Its increase over the time that it is compared with, or else over its peers.",
       1,
       "float",
       {},
       MoreThanBefore},
      {"all_alike",
       "Whether all places changed by the same since the time that it is compared with.",
       1,
       "bool",
       {{"least", 5, 0, 1e18, "a change below this is none, in units of the measure"},
        {"within_share", 0.35, 0, 10, "share of the median change that is the same: judgement"},
        {"within", 1, 0, 1e18, "so much is the same anyway, in units of the measure"},
        {"least_share", 0.8, 0.1, 1, "share of the places: judgement"}},
       AllAlike},
      {"loss_beside",
       "Loss of throughput relative to the time that it is compared with; %.",
       0,
       "float",
       {},
       LossBeside},
  };
}

}  // namespace galen::playbook
