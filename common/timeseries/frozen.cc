#include "common/timeseries/frozen.h"

#include <algorithm>

namespace galen::timeseries {
namespace {

enum class Motion { kUnknown, kConstant, kMoves };

Motion MotionOf(absl::Span<const float> values) {
  std::size_t known = 0;
  float first = 0;
  for (const float value : values) {
    if (!IsKnown(value)) continue;
    if (known++ == 0) first = value;
    if (value != first) return Motion::kMoves;
  }
  return known * 2 < values.size() ? Motion::kUnknown : Motion::kConstant;
}

}  // namespace

Run LongestConstantRun(absl::Span<const float> values) {
  Run longest;
  Run run;
  float held = kUnknown;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!IsKnown(values[i])) continue;
    if (values[i] != held) {
      held = values[i];
      run.begin = i;
    }
    run.end = i + 1;
    if (run.end - run.begin > longest.end - longest.begin) longest = run;
  }
  return longest;
}

std::optional<std::size_t> LastKnown(absl::Span<const float> values) {
  for (std::size_t i = values.size(); i > 0; --i) {
    if (IsKnown(values[i - 1])) return i - 1;
  }
  return std::nullopt;
}

std::vector<Ghost> FindGhosts(const Panel& panel, const FrozenOptions& options) {
  std::vector<Ghost> ghosts;
  for (std::size_t entity = 0; entity < panel.entities(); ++entity) {
    const Run run = LongestConstantRun(panel.Row(entity));
    if (run.end - run.begin < std::max<std::size_t>(options.least_samples, 2)) continue;
    std::size_t moving = 0;
    std::size_t peers = 0;
    for (std::size_t other = 0; other < panel.entities(); ++other) {
      if (other == entity) continue;
      const Motion motion = MotionOf(panel.Row(other).subspan(run.begin, run.end - run.begin));
      peers += motion == Motion::kUnknown ? 0 : 1;
      moving += motion == Motion::kMoves ? 1 : 0;
    }
    if (peers < std::max<std::size_t>(options.least_peers, 1)) continue;
    const double share = static_cast<double>(moving) / static_cast<double>(peers);
    if (share >= options.least_moving) ghosts.push_back({entity, run.begin, run.end, share});
  }
  return ghosts;
}

void Forget(absl::Span<const Ghost> ghosts, Panel& panel) {
  for (const Ghost& ghost : ghosts) {
    if (ghost.entity >= panel.entities() || ghost.end > panel.samples() || ghost.begin > ghost.end)
      continue;
    const absl::Span<float> row =
        panel.Row(ghost.entity).subspan(ghost.begin, ghost.end - ghost.begin);
    std::fill(row.begin(), row.end(), kUnknown);
  }
}

}  // namespace galen::timeseries
