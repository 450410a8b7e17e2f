#include "services/watch/early_warning/detection/detectors.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/timeseries/grid.h"
#include "services/watch/early_warning/detection/detectors_common.h"

namespace galen::watch::detection {
namespace {

// The stored state may be damaged, or from a rule that allowed more.
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

}  // namespace

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
  const bool finite = std::all_of(saved.begin(), saved.end(), timeseries::IsKnown);
  if (saved.size() != wanted || !finite) {
    return absl::InvalidArgumentError(
        absl::StrCat("early warning: the saved state of subject ", slot, " has ", saved.size(),
                     " numbers, but these rules keep ", wanted, "; it starts over"));
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

}  // namespace galen::watch::detection
