// SeriesTests of the job as a whole: how throughput went, and what training did meanwhile.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/timeseries/correlation.h"
#include "common/timeseries/period.h"
#include "common/timeseries/robust.h"
#include "services/execution/playbook/series_test_parts.h"

namespace galen::playbook {
namespace {

using timeseries::IsKnown;
using timeseries::kUnknown;

std::string PhasesText(const JobActivity& activity) {
  std::vector<std::string> parts;
  for (const timeseries::Phase& phase : activity.phases) {
    if (parts.size() == 12) {
      parts.push_back(absl::StrCat(activity.phases.size() - parts.size(), " more"));
      break;
    }
    parts.push_back(absl::StrCat(Short(static_cast<double>(phase.level)), " from ",
                                 Clock(activity.grid, phase.begin)));
  }
  return absl::StrCat(absl::StrJoin(parts, ", "), " (", activity.unit, ")");
}

std::vector<SeriesTestResult> ShapeOf(const SeriesTestInput& input) {
  const JobActivity& activity = input.activity;
  if (!activity.known || activity.shape == Shape::kUnknown) {
    return {Unknown({}, "the throughput of the job is not known")};
  }
  return {{{}, std::string(Word(activity.shape)), PhasesText(activity), -1}};
}

std::vector<SeriesTestResult> Loss(const SeriesTestInput& input) {
  const JobActivity& activity = input.activity;
  if (!activity.known || activity.shape == Shape::kUnknown) {
    return {Unknown({}, "the throughput of the job is not known")};
  }
  return {{{}, activity.loss, PhasesText(activity), -1}};
}

// Medians of `count` blocks of the job's time.
std::vector<float> Blocks(absl::Span<const float> row, const JobActivity& activity,
                          std::size_t count) {
  std::vector<float> blocks;
  const std::size_t size = activity.end - activity.begin;
  for (std::size_t b = 0; b < count; ++b) {
    const std::size_t from = activity.begin + size * b / count;
    const std::size_t to = activity.begin + size * (b + 1) / count;
    blocks.push_back(timeseries::Median(row.subspan(from, to - from)));
  }
  return blocks;
}

// A measure of training that rises while, and as, throughput falls.
std::vector<SeriesTestResult> RisesAsThroughputFalls(const SeriesTestInput& input) {
  const JobActivity& activity = input.activity;
  const Rows& rows = *input.of[0];
  if (!activity.known) return {Unknown({}, "the throughput of the job is not known")};
  constexpr std::size_t kBlocks = 24;
  if (activity.end - activity.begin < 2 * kBlocks) return {Unknown({}, "too few points")};
  const std::vector<float> median = MedianOf(rows);
  const std::vector<float> blocks = Blocks(median, activity, kBlocks);
  const std::vector<float> throughput = Blocks(activity.throughput, activity, kBlocks);
  const auto part = [](const std::vector<float>& all, std::size_t from, std::size_t size) {
    return static_cast<double>(timeseries::Median(absl::MakeConstSpan(all).subspan(from, size)));
  };
  const double before = part(blocks, 0, kBlocks / 4);
  const double after = part(blocks, kBlocks - kBlocks / 4, kBlocks / 4);
  if (!std::isfinite(before) || !std::isfinite(after) || KnownShare(blocks) < 0.7) {
    return {Unknown({}, absl::StrCat(rows.name, " is known for too little of the time"))};
  }
  const double rise = before == 0 ? 0 : (after - before) / std::abs(before);
  const auto correlation = timeseries::Correlate(blocks, throughput);
  const double together =
      correlation.has_value() && correlation->pairs >= kBlocks / 3 ? correlation->value : 0;
  const double fall =
      part(throughput, 0, kBlocks / 4) - part(throughput, kBlocks - kBlocks / 4, kBlocks / 4);
  const bool is = activity.loss > 0 && fall > 0 && rise >= input.Number("least_rise") &&
                  together <= -input.Number("least_correlation");
  return {{{},
           is,
           absl::StrCat(rows.name, " from ", Short(before), " to ", Short(after),
                        ", correlation with throughput ", Short(together)),
           0}};
}

// Points that jump far above what is around them.
std::vector<SeriesTestResult> Spikes(const SeriesTestInput& input) {
  const Rows& rows = *input.of[0];
  const std::vector<float> median = MedianOf(rows);
  if (KnownShare(median) < 0.1) return {Unknown({}, "known for too little of the time")};
  const std::size_t window =
      std::max<std::size_t>(5, PointsOf(input.Number("window_min"), rows.grid));
  double spikes = 0;
  std::size_t first = median.size();
  bool inside = false;
  for (std::size_t t = window; t < median.size(); ++t) {
    if (!IsKnown(median[t])) continue;
    const auto before = absl::MakeConstSpan(median).subspan(t - window, window);
    const auto usual = static_cast<double>(timeseries::Median(before));
    const bool is = std::isfinite(usual) && usual > 0 &&
                    static_cast<double>(median[t]) > input.Number("times") * usual;
    if (is && !inside) {
      ++spikes;
      first = std::min(first, t);
    }
    inside = is;
  }
  return {{{},
           spikes,
           spikes == 0 ? absl::StrCat(rows.name, " has none")
                       : absl::StrCat("the first one at ", Clock(rows.grid, first)),
           spikes == 0 ? -1 : 0}};
}

std::vector<SeriesTestResult> PeriodIn(const SeriesTestInput& input) {
  const Rows& rows = *input.of[0];
  const std::vector<float> median = MedianOf(rows);
  const auto period = timeseries::PeriodOf(median);
  if (!period.has_value()) return {{{}, 0.0, "no period", -1}};
  return {{{},
           period->samples * absl::ToDoubleSeconds(rows.grid.step),
           absl::StrCat("strength ", Short(static_cast<double>(period->strength))),
           0}};
}

}  // namespace

std::vector<SeriesTest> JobTests() {
  return {
      {"shape",
       "How throughput went: steady, phased (comes back), gradual, one_off (does not come back).",
       0,
       "text",
       {},
       ShapeOf},
      {"loss",
       "Loss of throughput in its worse phases relative to its best one; %.",
       0,
       "float",
       {},
       Loss},
      {"rises_as_throughput_falls",
       "Whether a measure of training rises while throughput falls, and as it does.",
       1,
       "bool",
       {{"least_rise", 0.2, 0, 100,
         "share of the first quarter that the last one is above: judgement"},
        {"least_correlation", 0.7, 0, 1, "of 24 medians of both: judgement"}},
       RisesAsThroughputFalls},
      {"spikes",
       "How often it jumped above what it was before.",
       1,
       "float",
       {{"times", 3, 1.01, 1000, "times the median of the time before: judgement"},
        {"window_min", 10, 0.5, 600, "minutes of that time"}},
       Spikes},
      {"period", "Its period in seconds; 0: it has none.", 1, "float", {}, PeriodIn},
  };
}

}  // namespace galen::playbook
