#include "services/watch/early_warning/detection/detectors.h"

#include <algorithm>
#include <limits>
#include <map>

#include "common/timeseries/grid.h"
#include "services/watch/early_warning/detection/detectors_common.h"

namespace galen::watch::detection {
namespace {

using timeseries::IsKnown;
using timeseries::kUnknown;

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

bool IsSilent(const Moment& moment, std::size_t slot) {
  return !moment.silent.empty() && moment.silent[slot] != 0;
}

}  // namespace

Detectors::Detectors(const RuleSet& rule_set, Of of, Options options)
    : options_(options), frozen_minutes_(rule_set.frozen_minutes) {
  options_.most = std::max(options_.most, static_cast<float>(rule_set.policy.MostNeeded()));
  for (const Rule& rule : rule_set.rules) {
    if (rule.of != of) continue;
    RuleState each;
    each.rule = &rule;
    each.measure = Measure(rule.measure);
    each.bound = rule.bound.empty() ? kNone : Measure(rule.bound);
    for (const Rule::Given& given : rule.given) each.given.push_back(Measure(given.measure));
    rules_.push_back(&rule);
    each_.push_back(std::move(each));
  }
  for (const std::string& name : rule_set.never_constant) {
    const auto at = std::find(measures_.begin(), measures_.end(), name);
    if (at == measures_.end()) continue;
    freezing_.push_back({static_cast<std::size_t>(at - measures_.begin()), {}, {}});
  }
}

std::size_t Detectors::Measure(const std::string& name) {
  const auto at = std::find(measures_.begin(), measures_.end(), name);
  if (at != measures_.end()) return static_cast<std::size_t>(at - measures_.begin());
  measures_.push_back(name);
  return measures_.size() - 1;
}

void Detectors::Grow(std::size_t slots) {
  if (slots <= subjects_.size()) return;
  subjects_.resize(slots);
  for (RuleState& each : each_) {
    each.states.resize(slots);
    if (each.rule->test == Test::kLeak) each.floors.resize(slots);
  }
  for (Freezing& freezing : freezing_) {
    freezing.last.resize(slots, kUnknown);
    freezing.same.resize(slots);
  }
}

void Detectors::Forget(std::size_t slot) {
  if (slot >= subjects_.size()) return;
  subjects_[slot] = {};
  for (RuleState& each : each_) {
    each.states[slot] = {};
    if (!each.floors.empty()) each.floors[slot] = {};
  }
}

// For a quantity that is not measured (any more).
void Detectors::Unknown(RuleState& each) const {
  for (std::size_t slot = 0; slot < each.states.size(); ++slot) {
    Unknown(each.states[slot]);
    if (!each.floors.empty() && each.states[slot].seen == 0) each.floors[slot] = {};
  }
}

// Resets everything after a long gap.
void Detectors::Lose() {
  for (RuleState& each : each_) {
    std::fill(each.states.begin(), each.states.end(), State());
    std::fill(each.floors.begin(), each.floors.end(), Floors());
  }
  for (Freezing& freezing : freezing_) {
    std::fill(freezing.last.begin(), freezing.last.end(), kUnknown);
    std::fill(freezing.same.begin(), freezing.same.end(), 0);
  }
}

// Updates which subjects belong to which job.
void Detectors::Regroup(const Moment& moment) {
  bool changed = peers_.empty();
  for (std::size_t slot = 0; slot < moment.groups.size(); ++slot) {
    Subject& subject = subjects_[slot];
    const std::int32_t group = moment.groups[slot];
    if (subject.known && subject.group == group) {
      subject.in_group = std::min(subject.in_group + passed_, 1 << 20);
      continue;
    }
    changed = true;
    for (RuleState& each : each_) {
      // Rules without warm-up are per device: their state is kept when the job changes.
      if (each.rule->warm_up > 0) each.states[slot] = {};
      if (!each.floors.empty()) each.floors[slot] = {};
    }
    subject = {group, 0, true};
  }
  if (!changed) return;
  peers_.clear();
  std::map<std::int32_t, std::size_t> at;
  for (std::size_t slot = 0; slot < moment.groups.size(); ++slot) {
    if (moment.groups[slot] < 0) continue;
    const auto [group, is_new] = at.try_emplace(moment.groups[slot], peers_.size());
    if (is_new) peers_.emplace_back();
    peers_[group->second].push_back(static_cast<std::uint32_t>(slot));
  }
}

// Planned work raises no sign, then or later.
void Detectors::Quieten(const Moment& moment) {
  for (std::size_t slot = 0; slot < moment.silent.size(); ++slot) {
    if (moment.silent[slot] == 0) continue;
    for (RuleState& each : each_) {
      each.states[slot].sum = 0;
      if (!each.floors.empty()) each.floors[slot] = {};
    }
  }
}

// A value that repeats to the last bit is the exporter's cached value.
void Detectors::FindFrozen(const Moment& moment) {
  frozen_.assign(subjects_.size(), 0);
  for (Freezing& freezing : freezing_) {
    const absl::Span<const float> column = moment.columns[freezing.measure];
    for (std::size_t slot = 0; slot < column.size(); ++slot) {
      const float value = column[slot];
      if (!IsKnown(value)) continue;
      freezing.same[slot] = value == freezing.last[slot] ? freezing.same[slot] + passed_ : 0;
      freezing.last[slot] = value;
      if (freezing.same[slot] >= frozen_minutes_) frozen_[slot] = 1;
    }
  }
}

bool Detectors::Counts(const RuleState& each, const Moment& moment, std::size_t slot) const {
  // (A counter that stands still is not informative anyway, and an idle GPU may hold its watts.)
  if ((frozen_[slot] != 0 && each.rule->test != Test::kGrowth) || IsSilent(moment, slot) ||
      subjects_[slot].in_group < each.rule->warm_up)
    return false;
  for (std::size_t i = 0; i < each.given.size(); ++i) {
    const absl::Span<const float> column = moment.columns[each.given[i]];
    // An unknown value does not satisfy a bound.
    if (column.empty() || !(column[slot] >= each.rule->given[i].least)) return false;
  }
  return true;
}

void Detectors::Fill(const RuleState& each, const Moment& moment) {
  values_.assign(subjects_.size(), kUnknown);
  const absl::Span<const float> column = moment.columns[each.measure];
  for (std::size_t slot = 0; slot < column.size(); ++slot) {
    if (IsKnown(column[slot]) && Counts(each, moment, slot)) values_[slot] = column[slot];
  }
}

std::vector<Sign> Detectors::Step(const Moment& moment) {
  std::vector<Sign> signs;
  if (moment.minute <= minute_ || moment.columns.size() != measures_.size()) return signs;
  for (const absl::Span<const float> column : moment.columns) {
    if (!column.empty() && column.size() != moment.groups.size()) return signs;
  }
  if (!moment.silent.empty() && moment.silent.size() != moment.groups.size()) return signs;
  passed_ = minute_ == 0
                ? 1
                : static_cast<std::int32_t>(std::min<std::int64_t>(moment.minute - minute_, kLost));
  if (passed_ >= kLost) Lose();
  minute_ = moment.minute;
  Grow(moment.groups.size());
  Regroup(moment);
  FindFrozen(moment);
  Quieten(moment);
  for (RuleState& each : each_) {
    if (moment.columns[each.measure].empty()) {
      Unknown(each);
      continue;
    }
    switch (each.rule->test) {
      case Test::kPeers:
        StepPeers(each, moment, signs);
        break;
      case Test::kOwn:
      case Test::kBound:
        StepAlone(each, moment, signs);
        break;
      case Test::kGrowth:
        StepGrowth(each, moment, signs);
        break;
      case Test::kLeak:
        StepLeak(each, moment, signs);
        break;
    }
  }
  return signs;
}

}  // namespace galen::watch::detection
