#ifndef SERVICES_WATCH_EARLY_WARNING_DETECTION_DETECTORS_COMMON_H_
#define SERVICES_WATCH_EARLY_WARNING_DETECTION_DETECTORS_COMMON_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "services/watch/early_warning/detection/detectors.h"

// Shared parts of the tests of Detectors, for nobody else. Inline, because all samples of a fleet
// pass through here.
namespace galen::watch::detection {

// A subject without values for this many minutes is reset: its earlier state is outdated.
inline constexpr std::int32_t kLost = 120;
// Minutes over which a habit is learned at the beginning, and later.
inline constexpr float kFirstHabit = 30;
inline constexpr float kHabit = 1440;
// Bounds of one minute, in slacks: an extreme value counts no more than this if the rule has no cap
// of its own, a good one no less.
inline constexpr float kMostExcess = 6;
inline constexpr float kLeastExcess = -1;
inline constexpr std::int32_t kQuarter = 15;

inline float MostOf(const Rule& rule) { return rule.cap > 0 ? rule.cap : kMostExcess; }

inline void Learn(float value, float most, std::int32_t seen, float& habit) {
  const float over =
      std::clamp(static_cast<float>(seen), 1.0F, seen <= kFirstHabit ? kFirstHabit : kHabit);
  habit += (value - habit) / over;
  if (most >= 0) habit = std::clamp(habit, -most, most);
}

inline void Detectors::Unknown(State& state) const {
  state.unknown = std::min(state.unknown + passed_, kLost);
  if (state.unknown >= kLost) state = {};
  if (state.sum > 0) state.since += passed_;
}

inline void Detectors::Add(const Rule& rule, float excess, State& state) const {
  const float before = state.sum;
  // After a gap, one minute counts for itself, not for the missed ones.
  state.sum = std::clamp(before + excess, 0.0F, options_.most * rule.limit);
  state.since = state.sum > 0 && before > 0 ? state.since + passed_ : 0;
  state.unknown = 0;
  state.seen = std::min(state.seen + 1, 1 << 20);
}

inline void Detectors::Tell(const RuleState& each, std::size_t slot, float value, float expected,
                            std::vector<Sign>& signs) const {
  const State& state = each.states[slot];
  const float score = state.sum / each.rule->limit;
  if (score < options_.least) return;
  signs.push_back({static_cast<std::size_t>(&each - each_.data()), slot, score, value, expected,
                   minute_ - state.since});
}

}  // namespace galen::watch::detection

#endif  // SERVICES_WATCH_EARLY_WARNING_DETECTION_DETECTORS_COMMON_H_
