#include "services/watch/early_warning/detection/detectors.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/timeseries/grid.h"
#include "services/watch/early_warning/detection/detectors_common.h"

namespace galen::watch::detection {

// Compared with itself, or with a bound.
void Detectors::StepAlone(RuleState& each, const Moment& moment, std::vector<Sign>& signs) {
  Fill(each, moment);
  const Rule& rule = *each.rule;
  const float sign = rule.low ? -1.0F : 1.0F;
  const bool own = rule.test == Test::kOwn;
  for (std::size_t slot = 0; slot < values_.size(); ++slot) {
    State& state = each.states[slot];
    const float value = values_[slot];
    float expected = state.habit;
    if (!own) {
      const absl::Span<const float> bounds = moment.columns[each.bound];
      expected = bounds.empty() ? timeseries::kUnknown : bounds[slot];
    }
    if (!timeseries::IsKnown(value) || !timeseries::IsKnown(expected)) {
      Unknown(state);
      continue;
    }
    const bool learning = own && static_cast<float>(state.seen) < kFirstHabit;
    if (learning || !(std::fabs(expected) > 0)) {
      Add(rule, 0, state);
      Learn(value, -1, state.seen, state.habit);
      continue;
    }
    const float beyond = sign * (value - expected) / std::fabs(expected);
    Add(rule, std::clamp((beyond - rule.slack) / rule.slack, kLeastExcess, MostOf(rule)), state);
    if (own && beyond < rule.slack) Learn(value, -1, state.seen, state.habit);
    Tell(each, slot, value, expected, signs);
  }
}

}  // namespace galen::watch::detection
