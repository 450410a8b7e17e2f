#include "common/warning/detectors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/series/grid.h"
#include "common/series/robust.h"
#include "common/series/trend.h"

namespace galen::warning {
namespace {

using series::IsKnown;
using series::kUnknown;

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
// A subject that says nothing for so many minutes begins anew: what stood before is not now.
constexpr std::int32_t kLost = 120;
// Minutes over which a habit is learned at the beginning, and later.
constexpr float kFirstHabit = 30;
constexpr float kHabit = 1440;
// Of a minute, in slacks: what lies far out counts no more than this where the rule has no cap of
// its own, what is well no less.
constexpr float kMostExcess = 6;
constexpr float kLeastExcess = -1;
constexpr std::int32_t kQuarter = 15;
constexpr std::size_t kLeastFloors = 8;
// What is used of a whole has to have grown by a fiftieth of the whole (as series::TrendOptions).
constexpr float kLeastLeak = 0.02F;

float MostOf(const Rule& rule) { return rule.cap > 0 ? rule.cap : kMostExcess; }

bool IsSilent(const Moment& moment, std::size_t slot) {
  return !moment.silent.empty() && moment.silent[slot] != 0;
}

// What was kept may be damaged, or of a rule that allowed more.
float HabitOf(const Rule& rule, float kept) {
  switch (rule.test) {
    case Test::kPeers:
      return std::clamp(kept, -rule.habit, rule.habit);
    case Test::kGrowth:
      return std::clamp(kept, 0.0F, rule.habit);
    case Test::kOwn:
      return kept;
    case Test::kBound:
    case Test::kLeak:
      break;
  }
  return 0;
}

void Learn(float value, float most, std::int32_t seen, float& habit) {
  const float over =
      std::clamp(static_cast<float>(seen), 1.0F, seen <= kFirstHabit ? kFirstHabit : kHabit);
  habit += (value - habit) / over;
  if (most >= 0) habit = std::clamp(habit, -most, most);
}

}  // namespace

Detectors::Detectors(const Book& book, Of of, Options options)
    : options_(options), frozen_minutes_(book.frozen_minutes) {
  options_.most = std::max(options_.most, static_cast<float>(book.policy.MostNeeded()));
  for (const Rule& rule : book.rules) {
    if (rule.of != of) continue;
    RuleState each;
    each.rule = &rule;
    each.measure = Measure(rule.measure);
    each.bound = rule.bound.empty() ? kNone : Measure(rule.bound);
    for (const Rule::Given& given : rule.given) each.given.push_back(Measure(given.measure));
    rules_.push_back(&rule);
    each_.push_back(std::move(each));
  }
  for (const std::string& name : book.never_constant) {
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

// Who works for whom.
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
      // What needs no warm-up befalls the device, whoever works on it.
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

// What was planned says nothing, then or later.
void Detectors::Quieten(const Moment& moment) {
  for (std::size_t slot = 0; slot < moment.silent.size(); ++slot) {
    if (moment.silent[slot] == 0) continue;
    for (RuleState& each : each_) {
      each.states[slot].sum = 0;
      if (!each.floors.empty()) each.floors[slot] = {};
    }
  }
}

// Who repeats itself to the last bit is an exporter's memory.
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
  // (A counter that stands still says nothing anyway, and an idle GPU may hold its watts.)
  if ((frozen_[slot] != 0 && each.rule->test != Test::kGrowth) || IsSilent(moment, slot) ||
      subjects_[slot].in_group < each.rule->warm_up)
    return false;
  for (std::size_t i = 0; i < each.given.size(); ++i) {
    const absl::Span<const float> column = moment.columns[each.given[i]];
    // What is unknown is not at least anything.
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

void Detectors::Unknown(State& state) const {
  state.unknown = std::min(state.unknown + passed_, kLost);
  if (state.unknown >= kLost) state = {};
  if (state.sum > 0) state.since += passed_;
}

// Of a quantity that nobody measures (any more).
void Detectors::Unknown(RuleState& each) const {
  for (std::size_t slot = 0; slot < each.states.size(); ++slot) {
    Unknown(each.states[slot]);
    if (!each.floors.empty() && each.states[slot].seen == 0) each.floors[slot] = {};
  }
}

// So much time passed unseen that all began anew.
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

void Detectors::Add(const Rule& rule, float excess, State& state) const {
  const float before = state.sum;
  // After a gap one minute stands for itself, not for those that nobody saw.
  state.sum = std::clamp(before + excess, 0.0F, options_.most * rule.limit);
  state.since = state.sum > 0 && before > 0 ? state.since + passed_ : 0;
  state.unknown = 0;
  state.seen = std::min(state.seen + 1, 1 << 20);
}

void Detectors::Tell(const RuleState& each, std::size_t slot, float value, float expected,
                     std::vector<Sign>& signs) const {
  const State& state = each.states[slot];
  const float score = state.sum / each.rule->limit;
  if (score < options_.least) return;
  signs.push_back({static_cast<std::size_t>(&each - each_.data()), slot, score, value, expected,
                   minute_ - state.since});
}

void Detectors::StepPeers(RuleState& each, const Moment& moment, std::vector<Sign>& signs) {
  Fill(each, moment);
  const Rule& rule = *each.rule;
  const float sign = rule.low ? -1.0F : 1.0F;
  for (const std::vector<std::uint32_t>& group : peers_) {
    sorted_.clear();
    for (const std::uint32_t slot : group) {
      if (IsKnown(values_[slot])) sorted_.push_back(values_[slot]);
    }
    if (sorted_.size() < options_.least_peers + 1) {
      for (const std::uint32_t slot : group) Unknown(each.states[slot]);
      continue;
    }
    const float median = series::MedianInPlace(absl::MakeSpan(sorted_));
    if (!(std::fabs(median) > 0)) {
      for (const std::uint32_t slot : group) Unknown(each.states[slot]);
      continue;
    }
    const float scale = sign / std::fabs(median);
    // How far they lie apart beside what each always differs by.
    sorted_.clear();
    for (const std::uint32_t slot : group) {
      if (!IsKnown(values_[slot])) continue;
      sorted_.push_back(std::fabs((values_[slot] - median) * scale - each.states[slot].habit));
    }
    const float spread = series::kMadToSigma * series::MedianInPlace(absl::MakeSpan(sorted_));
    const float slack = std::max(rule.slack, rule.noises * spread);
    for (const std::uint32_t slot : group) {
      State& state = each.states[slot];
      if (!IsKnown(values_[slot])) {
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

// Against itself, or against a bound.
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
      expected = bounds.empty() ? kUnknown : bounds[slot];
    }
    if (!IsKnown(value) || !IsKnown(expected)) {
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

// What a subject shares with its group: twice the median; of a few, thrice the lowest of the
// others.
void Detectors::FindCommon(const std::vector<std::uint32_t>& group, std::vector<float>& common) {
  sorted_.clear();
  for (const std::uint32_t slot : group) {
    if (IsKnown(values_[slot])) sorted_.push_back(values_[slot]);
  }
  if (sorted_.size() < 2) {
    // Of others nothing is known: nor is what one shares with them.
    for (const std::uint32_t slot : group) {
      if (group.size() > 1) values_[slot] = kUnknown;
    }
    return;
  }
  if (sorted_.size() > options_.least_peers) {
    const float median = series::MedianInPlace(absl::MakeSpan(sorted_));
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
  std::vector<float> common;  // by slot, what half of its group sees as well
  if (rule.beyond_peers) {
    common.assign(values_.size(), 0);
    for (const std::vector<std::uint32_t>& group : peers_) {
      FindCommon(group, common);
    }
  }
  for (std::size_t slot = 0; slot < values_.size(); ++slot) {
    State& state = each.states[slot];
    if (!IsKnown(values_[slot])) {
      Unknown(state);
      continue;
    }
    const float grown = std::max(values_[slot] - (common.empty() ? 0 : common[slot]), 0.0F);
    const float allowed = rule.slack + state.habit;
    Add(rule, std::min(grown, rule.cap) - allowed, state);
    // The mean of all minutes so far, and of the last day later.
    const float over = std::clamp(static_cast<float>(state.seen), 1.0F, kHabit);
    state.habit =
        std::min(state.habit + (std::min(grown, rule.cap) - state.habit) / over, rule.habit);
    Tell(each, slot, values_[slot], allowed, signs);
  }
}

// What is left of a whole, by the lowest use of each quarter of an hour: the score is the limit
// over the hours that are left until there is nothing.
void Detectors::StepLeak(RuleState& each, const Moment& moment, std::vector<Sign>& signs) {
  Fill(each, moment);
  const Rule& rule = *each.rule;
  const absl::Span<const float> wholes = moment.columns[each.bound];
  for (std::size_t slot = 0; slot < values_.size(); ++slot) {
    State& state = each.states[slot];
    Floors& floors = each.floors[slot];
    const float whole = wholes.empty() ? kUnknown : wholes[slot];
    if (!IsKnown(values_[slot]) || !IsKnown(whole) || !(whole > 0)) {
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
        const series::Trend trend =
            series::TrendOf(absl::MakeConstSpan(floors.low, size), {.least_growth = 0});
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

std::uint64_t Detectors::Digest() const {
  std::uint64_t digest = 0xcbf29ce484222325;  // FNV-1a
  const auto add = [&](absl::string_view text) {
    for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    digest = (digest ^ 0xff) * 0x100000001b3;  // no byte of a name
  };
  for (const Rule* rule : rules_) {
    for (const absl::string_view part :
         {absl::string_view(rule->name), ToString(rule->of), ToString(rule->test),
          absl::string_view(rule->measure), absl::string_view(rule->bound)}) {
      add(part);
    }
  }
  return digest;
}

std::vector<float> Detectors::Save(std::size_t slot) const {
  std::vector<float> saved;
  if (slot >= subjects_.size() || !subjects_[slot].known) return saved;
  saved.push_back(static_cast<float>(subjects_[slot].in_group));
  for (const RuleState& each : each_) {
    const State& state = each.states[slot];
    saved.insert(saved.end(), {state.sum, state.habit, static_cast<float>(state.since),
                               static_cast<float>(state.seen), static_cast<float>(state.unknown)});
    if (each.floors.empty()) continue;
    const Floors& floors = each.floors[slot];
    saved.insert(saved.end(), floors.low, floors.low + Floors::kMost);
    saved.insert(saved.end(),
                 {static_cast<float>(floors.size), static_cast<float>(floors.minutes), floors.now});
  }
  return saved;
}

absl::Status Detectors::Restore(std::size_t slot, std::int32_t group,
                                absl::Span<const float> saved) {
  std::size_t wanted = 1;
  for (const RuleState& each : each_) {
    wanted += 5 + (each.rule->test == Test::kLeak ? Floors::kMost + 3 : 0);
  }
  const bool finite = std::all_of(saved.begin(), saved.end(), IsKnown);
  if (saved.size() != wanted || !finite) {
    return absl::InvalidArgumentError(
        absl::StrCat("early warning: what is kept of subject ", slot, " has ", saved.size(),
                     " numbers where these rules keep ", wanted, "; it begins anew"));
  }
  Grow(slot + 1);
  const auto whole = [](float number, std::int32_t most) {
    return static_cast<std::int32_t>(std::clamp(number, 0.0F, static_cast<float>(most)));
  };
  subjects_[slot] = {group, whole(saved[0], 1 << 20), true};
  peers_.clear();
  std::size_t at = 1;
  for (RuleState& each : each_) {
    State& state = each.states[slot];
    state.sum = std::clamp(saved[at], 0.0F, options_.most * each.rule->limit);
    state.habit = HabitOf(*each.rule, saved[at + 1]);
    state.since = whole(saved[at + 2], 1 << 24);
    state.seen = whole(saved[at + 3], 1 << 20);
    state.unknown = whole(saved[at + 4], kLost);
    at += 5;
    if (each.floors.empty()) continue;
    Floors& floors = each.floors[slot];
    std::copy_n(saved.begin() + static_cast<std::ptrdiff_t>(at), Floors::kMost, floors.low);
    at += Floors::kMost;
    floors.size = whole(saved[at], static_cast<std::int32_t>(Floors::kMost));
    floors.minutes = whole(saved[at + 1], kQuarter);
    floors.now = saved[at + 2];
    at += 3;
  }
  return absl::OkStatus();
}

}  // namespace galen::warning
