#include "services/execution/playbook/job_activity.h"

#include <algorithm>
#include <cmath>

#include "common/timeseries/robust.h"
#include "common/timeseries/trend.h"

namespace galen::playbook {
namespace {

using timeseries::IsKnown;
using timeseries::kUnknown;
using timeseries::Phase;

// A phase at either end that is shorter than so much of what is known is a beginning or an end.
constexpr double kEdge = 0.03;
// Levels this near to each other (share of the best one) are one.
constexpr float kSameLevel = 0.015F;

std::size_t Points(absl::Duration time, const timeseries::Grid& grid) {
  return static_cast<std::size_t>(std::max<std::int64_t>(1, time / grid.step));
}

// The first and one behind the last sample at which a value is another one than before.
Run Moving(absl::Span<const float> values) {
  Run run{values.size(), 0};
  float last = kUnknown;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!IsKnown(values[i])) continue;
    if (!IsKnown(last) || values[i] != last) {
      run.begin = std::min(run.begin, i);
      run.end = i + 1;
    }
    last = values[i];
  }
  return run;
}

// Phases beside each other at one level are one.
std::vector<Phase> Merged(std::vector<Phase> phases, float best) {
  std::vector<Phase> merged;
  for (const Phase& phase : phases) {
    if (!merged.empty() && std::abs(merged.back().level - phase.level) < kSameLevel * best) {
      Phase& last = merged.back();
      const auto of = static_cast<float>(last.known);
      const auto more = static_cast<float>(phase.known);
      if (of + more > 0) last.level = (last.level * of + phase.level * more) / (of + more);
      last.end = phase.end;
      last.known += phase.known;
      last.spread = std::max(last.spread, phase.spread);
    } else {
      merged.push_back(phase);
    }
  }
  return merged;
}

// Falls, step by step or slope, and never comes back.
bool FallsThroughout(const std::vector<Phase>& phases) {
  if (phases.size() < 3) return false;
  for (std::size_t i = 1; i < phases.size(); ++i) {
    if (phases[i].level >= phases[i - 1].level) return false;
  }
  return true;
}

Shape ShapeOf(const JobActivity& activity, double least_loss) {
  std::size_t losing = 0;
  bool back = false;  // after a loss
  bool lost = false;
  for (const Phase& phase : activity.phases) {
    const bool loses = activity.LossOf(phase) >= least_loss;
    losing += loses ? 1 : 0;
    back = back || (lost && !loses);
    lost = lost || loses;
  }
  if (losing == 0) return Shape::kSteady;
  const absl::Span<const float> worked =
      absl::MakeConstSpan(activity.throughput)
          .subspan(activity.begin, activity.end - activity.begin);
  const timeseries::Trend trend = timeseries::TrendOf(worked);
  if (FallsThroughout(activity.phases) || (!back && activity.phases.size() >= 3 &&
                                           trend.direction == timeseries::Direction::kShrinks)) {
    return Shape::kGradual;
  }
  if (back || losing < activity.phases.size() - 1) return Shape::kPhased;
  // A job that begins low and improves once is a single change as well.
  return Shape::kOneOff;
}

}  // namespace

absl::string_view Word(Shape shape) {
  switch (shape) {
    case Shape::kSteady:
      return "steady";
    case Shape::kPhased:
      return "phased";
    case Shape::kGradual:
      return "gradual";
    case Shape::kOneOff:
      return "one_off";
    case Shape::kUnknown:
      break;
  }
  return "unknown";
}

double JobActivity::LossOf(const Phase& phase) const {
  if (!(best > 0) || !IsKnown(phase.level)) return 0;
  return static_cast<double>(100 * (1 - phase.level / best));
}

JobActivity MakeJobActivity(const timeseries::Grid& grid, const Rows* throughput, const Rows* steps,
                            const JobActivityOptions& options) {
  JobActivity activity;
  activity.grid = grid;
  activity.end = grid.size;
  activity.throughput.assign(grid.size, kUnknown);
  if (throughput == nullptr) return activity;
  activity.unit = throughput->unit;
  std::vector<float> all = MedianOf(*throughput);
  Run moving = Moving(all);
  if (steps != nullptr) {
    const Run of_steps = Moving(MedianOf(*steps));
    if (of_steps.begin < of_steps.end) {
      moving = {std::min(moving.begin, of_steps.begin), std::max(moving.end, of_steps.end)};
    }
  }
  if (moving.begin >= moving.end) return activity;
  activity.known = true;
  activity.begin = moving.begin;
  activity.end = moving.end;
  std::copy(all.begin() + static_cast<std::ptrdiff_t>(activity.begin),
            all.begin() + static_cast<std::ptrdiff_t>(activity.end),
            activity.throughput.begin() + static_cast<std::ptrdiff_t>(activity.begin));
  const std::size_t size = activity.end - activity.begin;
  std::vector<Phase> phases = timeseries::FindPhases(
      absl::MakeConstSpan(activity.throughput).subspan(activity.begin, size),
      {.shortest = std::max<std::size_t>(5, Points(options.shortest, grid))});
  for (Phase& phase : phases) {
    phase.begin += activity.begin;
    phase.end += activity.begin;
  }
  // Warm-up and wind-down do not count as phases.
  const auto edge = static_cast<std::size_t>(kEdge * static_cast<double>(size));
  if (phases.size() > 1 && phases.front().end - phases.front().begin <= edge) {
    phases.erase(phases.begin());
  }
  if (phases.size() > 1 && phases.back().end - phases.back().begin <= edge) phases.pop_back();
  for (const Phase& phase : phases) {
    if (phase.known > 0 && !(phase.level <= activity.best)) activity.best = phase.level;
  }
  activity.phases = Merged(std::move(phases), activity.best);
  if (!(activity.best > 0)) return activity;
  double lost = 0;
  double points = 0;
  for (const Phase& phase : activity.phases) {
    const double loss = activity.LossOf(phase);
    if (loss < options.least_loss) continue;
    lost += loss * static_cast<double>(phase.end - phase.begin);
    points += static_cast<double>(phase.end - phase.begin);
  }
  activity.loss = points > 0 ? lost / points : 0;
  activity.shape = ShapeOf(activity, options.least_loss);
  return activity;
}

std::vector<Run> RunsOf(const Rows& throughput, absl::Duration gap) {
  std::vector<Run> runs;
  const std::vector<float> values = MedianOf(throughput);
  const std::size_t most = Points(gap, throughput.grid);
  float last = kUnknown;
  std::size_t moved = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!IsKnown(values[i]) || (IsKnown(last) && values[i] == last)) continue;
    last = values[i];
    if (runs.empty() || i - moved > most) {
      runs.push_back({i, i + 1});
    } else {
      runs.back().end = i + 1;
    }
    moved = i;
  }
  return runs;
}

}  // namespace galen::playbook
