#include "services/watch/early_warning/detection/detectors.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/types/span.h"
#include "common/timeseries/grid.h"
#include "common/timeseries/robust.h"
#include "services/watch/early_warning/detection/detectors_common.h"

namespace galen::watch::detection {

void Detectors::StepPeers(RuleState& each, const Moment& moment, std::vector<Sign>& signs) {
  Fill(each, moment);
  const Rule& rule = *each.rule;
  const float sign = rule.low ? -1.0F : 1.0F;
  for (const std::vector<std::uint32_t>& group : peers_) {
    sorted_.clear();
    for (const std::uint32_t slot : group) {
      if (timeseries::IsKnown(values_[slot])) sorted_.push_back(values_[slot]);
    }
    if (sorted_.size() < options_.least_peers + 1) {
      for (const std::uint32_t slot : group) Unknown(each.states[slot]);
      continue;
    }
    const float median = timeseries::MedianInPlace(absl::MakeSpan(sorted_));
    if (!(std::fabs(median) > 0)) {
      for (const std::uint32_t slot : group) Unknown(each.states[slot]);
      continue;
    }
    const float scale = sign / std::fabs(median);
    // The distance from the peers, without the subject's constant difference.
    sorted_.clear();
    for (const std::uint32_t slot : group) {
      if (!timeseries::IsKnown(values_[slot])) continue;
      sorted_.push_back(std::fabs((values_[slot] - median) * scale - each.states[slot].habit));
    }
    const float spread =
        timeseries::kMadToSigma * timeseries::MedianInPlace(absl::MakeSpan(sorted_));
    const float slack = std::max(rule.slack, rule.noises * spread);
    for (const std::uint32_t slot : group) {
      State& state = each.states[slot];
      if (!timeseries::IsKnown(values_[slot])) {
        Unknown(state);
        continue;
      }
      const float off = (values_[slot] - median) * scale;
      const float beyond = off - state.habit;
      const float excess = (beyond - slack) / slack;
      Add(rule, std::clamp(excess, kLeastExcess, MostOf(rule)), state);
      if (beyond < slack || state.seen <= kFirstHabit) {
        Learn(off, rule.habit, state.seen, state.habit);
      }
      Tell(each, slot, values_[slot], median, signs);
    }
  }
}

}  // namespace galen::watch::detection
