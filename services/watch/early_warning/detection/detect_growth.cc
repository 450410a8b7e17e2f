#include "services/watch/early_warning/detection/detectors.h"

#include <algorithm>
#include <vector>

#include "absl/types/span.h"
#include "common/timeseries/grid.h"
#include "common/timeseries/robust.h"
#include "services/watch/early_warning/detection/detectors_common.h"

namespace galen::watch::detection {

// The growth that a subject shares with its group: twice the median; in a small group, three times
// the lowest of the others.
void Detectors::FindCommon(const std::vector<std::uint32_t>& group, std::vector<float>& common) {
  sorted_.clear();
  for (const std::uint32_t slot : group) {
    if (timeseries::IsKnown(values_[slot])) sorted_.push_back(values_[slot]);
  }
  if (sorted_.size() < 2) {
    // Nothing is known about others, so the shared growth is unknown too.
    for (const std::uint32_t slot : group) {
      if (group.size() > 1) values_[slot] = timeseries::kUnknown;
    }
    return;
  }
  if (sorted_.size() > options_.least_peers) {
    const float median = timeseries::MedianInPlace(absl::MakeSpan(sorted_));
    for (const std::uint32_t slot : group) common[slot] = 2 * median;
    return;
  }
  std::partial_sort(sorted_.begin(), sorted_.begin() + 2, sorted_.end());
  for (const std::uint32_t slot : group) {
    common[slot] = 3 * (values_[slot] > sorted_[0] ? sorted_[0] : sorted_[1]);
  }
}

void Detectors::StepGrowth(RuleState& each, const Moment& moment, std::vector<Sign>& signs) {
  Fill(each, moment);
  const Rule& rule = *each.rule;
  std::vector<float> common;  // by slot, the growth that half of its group sees as well
  if (rule.beyond_peers) {
    common.assign(values_.size(), 0);
    for (const std::vector<std::uint32_t>& group : peers_) {
      FindCommon(group, common);
    }
  }
  for (std::size_t slot = 0; slot < values_.size(); ++slot) {
    State& state = each.states[slot];
    if (!timeseries::IsKnown(values_[slot])) {
      Unknown(state);
      continue;
    }
    const float grown = std::max(values_[slot] - (common.empty() ? 0 : common[slot]), 0.0F);
    const float allowed = rule.slack + state.habit;
    Add(rule, std::min(grown, rule.cap) - allowed, state);
    // The mean of all minutes so far, later of the last day.
    const float over = std::clamp(static_cast<float>(state.seen), 1.0F, kHabit);
    state.habit =
        std::min(state.habit + (std::min(grown, rule.cap) - state.habit) / over, rule.habit);
    Tell(each, slot, values_[slot], allowed, signs);
  }
}

}  // namespace galen::watch::detection
