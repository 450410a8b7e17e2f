#include "services/watch/early_warning/detection/detectors.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/types/span.h"
#include "common/timeseries/grid.h"
#include "common/timeseries/trend.h"
#include "services/watch/early_warning/detection/detectors_common.h"

namespace galen::watch::detection {
namespace {

constexpr std::size_t kLeastFloors = 8;
// The use has to have grown by a fiftieth of the whole (as timeseries::TrendOptions).
constexpr float kLeastLeak = 0.02F;

}  // namespace

// The remaining amount, by the lowest use of each quarter of an hour: the score is the limit
// divided by the hours until nothing is left.
void Detectors::StepLeak(RuleState& each, const Moment& moment, std::vector<Sign>& signs) {
  Fill(each, moment);
  const Rule& rule = *each.rule;
  const absl::Span<const float> wholes = moment.columns[each.bound];
  for (std::size_t slot = 0; slot < values_.size(); ++slot) {
    State& state = each.states[slot];
    Floors& floors = each.floors[slot];
    const float whole = wholes.empty() ? timeseries::kUnknown : wholes[slot];
    if (!timeseries::IsKnown(values_[slot]) || !timeseries::IsKnown(whole) || !(whole > 0)) {
      Unknown(state);
      if (state.unknown == 0 && state.seen == 0) floors = {};
      continue;
    }
    const float share = values_[slot] / whole;
    const float used = rule.low ? 1 - share : share;
    floors.now = floors.minutes == 0 ? used : std::min(floors.now, used);
    floors.minutes += passed_;
    Add(rule, 0, state);
    if (floors.minutes >= kQuarter) {
      if (static_cast<std::size_t>(floors.size) == Floors::kMost) {
        std::memmove(floors.low, floors.low + 1, sizeof(floors.low) - sizeof(floors.low[0]));
        --floors.size;
      }
      floors.low[floors.size++] = floors.now;
      floors.minutes = 0;
      float score = 0;
      const auto size = static_cast<std::size_t>(floors.size);
      if (size >= kLeastFloors && floors.now - floors.low[0] > kLeastLeak) {
        const timeseries::Trend trend =
            timeseries::TrendOf(absl::MakeConstSpan(floors.low, size), {.least_growth = 0});
        if (trend.leaks && trend.growth > kLeastLeak && trend.least > 0) {
          const double hours =
              (1 - static_cast<double>(floors.now)) / trend.per_sample * kQuarter / 60;
          score = static_cast<float>(rule.limit / std::max(hours, 0.1));
        }
      }
      state.since = score > 0 ? kQuarter * static_cast<std::int32_t>(size) : 0;
      state.sum = std::min(score, options_.most) * rule.limit;
    }
    Tell(each, slot, values_[slot], whole, signs);
  }
}

}  // namespace galen::watch::detection
