#include "services/watch/early_warning/detection/policy.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace galen::watch::detection {
namespace {

constexpr std::size_t kMostAlarms = 1000;
constexpr std::size_t kMostNotices = 64;
// The state is stored as one record (of at most 8 MiB), together with the requests for reported
// causes: these bound it.
constexpr std::size_t kMostBytes = std::size_t{2} << 20;
constexpr std::size_t kMostToldAtOnce = 16;
constexpr std::size_t kMostRulesOfOne = 8;  // judged by one alarm
constexpr std::size_t kMostFalse = 1000;
constexpr std::size_t kMostUnjudged = 1000;
constexpr absl::Duration kJudgedWithin = absl::Hours(14 * 24);
constexpr absl::Duration kWeek = absl::Hours(7 * 24);

bool IsOfJob(const Where& where) { return where.node.empty() && !where.job.empty(); }
// Approximate size when stored: names and numbers.
std::size_t SizeOf(const Notice& notice) {
  const Where& where = notice.where;
  return 96 + notice.rule.size() + where.node.size() + where.device.size() + where.job.size() +
         where.network.size();
}
bool Same(const std::string& a, const std::string& b) { return !a.empty() && a == b; }

}  // namespace

bool Policy::IsSilent(const Where& where, absl::Time now) const {
  return std::any_of(rule_set_.silences.begin(), rule_set_.silences.end(),
                     [&](const Silence& each) { return each.Covers(where.node, where.job, now); });
}

double Policy::RaisedOf(const std::string& rule) const {
  const auto at = state_.raised.find(rule);
  // (A site may have lowered the maximum since.)
  return at == state_.raised.end() ? 1 : std::min(at->second, rule_set_.policy.most_raised);
}

bool Policy::Joins(const Alarm& alarm, const Notice& notice, absl::Time now) const {
  const bool together = now - alarm.first <= rule_set_.policy.together;
  // For a slow job without a known cause.
  const bool unplaced = std::all_of(alarm.notices.begin(), alarm.notices.end(),
                                    [](const Notice& each) { return IsOfJob(each.where); });
  for (const Notice& other : alarm.notices) {
    const bool rule = other.rule == notice.rule;
    if (Same(other.where.node, notice.where.node)) {
      // A device has one cause at a time; simultaneous signs of one machine are one cause as well.
      if (rule || together || Same(other.where.device, notice.where.device)) return true;
    }
    if (Same(other.where.job, notice.where.job)) {
      // A job is slow because of a fault of its machines, for as long as that lasts.
      if (unplaced || IsOfJob(notice.where)) return true;
      if (rule && together) return true;
    }
    if (rule && together && Same(other.where.network, notice.where.network)) return true;
  }
  return false;
}

void Policy::Take(Alarm& alarm, const Notice& notice, absl::Time now) {
  alarm.last = now;
  alarm.score = std::max(alarm.score, notice.score / RaisedOf(notice.rule));
  for (Notice& other : alarm.notices) {
    if (other.rule != notice.rule || other.where != notice.where) continue;
    if (notice.score > other.score) {
      const absl::Time since = std::min(other.since, notice.since);
      other = notice;
      other.since = since;
    }
    return;
  }
  if (alarm.notices.size() >= kMostNotices || bytes_ + SizeOf(notice) > kMostBytes) return;
  bytes_ += SizeOf(notice);
  alarm.notices.push_back(notice);
}

void Policy::Forgive(absl::Time now) {
  if (state_.forgiven == absl::Time() || state_.forgiven > now) state_.forgiven = now;
  const absl::Duration passed = now - state_.forgiven;
  if (passed < absl::Hours(1)) return;
  state_.forgiven = now;
  const double left = std::exp2(-absl::FDivDuration(passed, rule_set_.policy.forgive));
  for (auto it = state_.raised.begin(); it != state_.raised.end();) {
    it->second = 1 + (it->second - 1) * left;
    it = it->second < 1.01 ? state_.raised.erase(it) : std::next(it);
  }
  std::erase_if(state_.unjudged,
                [&](const Unjudged& each) { return now - each.told > kJudgedWithin; });
  std::erase_if(state_.false_alarms, [&](absl::Time at) { return now - at > kWeek; });
}

std::vector<Alarm> Policy::Step(absl::Time now, absl::Span<const Notice> notices) {
  Forgive(now);
  std::erase_if(state_.alarms,
                [&](const Alarm& each) { return now - each.last > rule_set_.policy.rearm; });
  bytes_ = 0;
  for (const Alarm& alarm : state_.alarms) {
    for (const Notice& notice : alarm.notices) bytes_ += SizeOf(notice);
  }
  for (const Notice& notice : notices) {
    const double score = notice.score / RaisedOf(notice.rule);
    if (score < rule_set_.policy.clear || IsSilent(notice.where, now)) continue;
    const auto at = std::find_if(state_.alarms.begin(), state_.alarms.end(),
                                 [&](const Alarm& each) { return Joins(each, notice, now); });
    if (at != state_.alarms.end()) {
      Take(*at, notice, now);
    } else if (score >= 1 && state_.alarms.size() < kMostAlarms &&
               bytes_ + SizeOf(notice) <= kMostBytes) {
      Alarm alarm;
      alarm.id = state_.next_id++;
      alarm.first = now;
      alarm.told = absl::InfinitePast();
      Take(alarm, notice, now);
      state_.alarms.push_back(std::move(alarm));
    }
  }
  const auto spent =
      static_cast<double>(std::count_if(state_.false_alarms.begin(), state_.false_alarms.end(),
                                        [&](absl::Time at) { return now - at <= kWeek; }));
  const double needed = spent >= rule_set_.policy.budget_per_week ? kBeyondDoubt : 1;
  std::vector<Alarm> told;
  for (Alarm& alarm : state_.alarms) {
    if (alarm.told != absl::InfinitePast() || now - alarm.first < rule_set_.policy.gather) continue;
    if (alarm.last < now) continue;  // was it a blip? It falls below, or returns.
    if (alarm.score < needed) {
      if (now - alarm.first < rule_set_.policy.gather + absl::Minutes(1)) ++state_.withheld;
      continue;
    }
    if (told.size() >= kMostToldAtOnce) continue;
    alarm.told = now;
    told.push_back(alarm);
    Unjudged judged{alarm.id, {}, "", now};
    for (const Notice& notice : alarm.notices) {
      if (judged.rules.size() >= kMostRulesOfOne) break;
      if (std::find(judged.rules.begin(), judged.rules.end(), notice.rule) == judged.rules.end()) {
        judged.rules.push_back(notice.rule);
      }
    }
    if (state_.unjudged.size() >= kMostUnjudged) state_.unjudged.erase(state_.unjudged.begin());
    state_.unjudged.push_back(std::move(judged));
  }
  // An alarm that was not reported and is gone was false.
  std::erase_if(state_.alarms, [&](const Alarm& each) {
    return each.told == absl::InfinitePast() && now - each.last > rule_set_.policy.together;
  });
  return told;
}

bool Policy::Judge(std::int64_t id, bool was_true, absl::Time now) {
  const auto at = std::find_if(state_.unjudged.begin(), state_.unjudged.end(),
                               [&](const Unjudged& each) { return each.id == id; });
  if (at == state_.unjudged.end()) return false;
  const Unjudged judged = *at;
  state_.unjudged.erase(at);
  if (was_true) return true;
  if (state_.false_alarms.size() < kMostFalse) state_.false_alarms.push_back(now);
  for (const std::string& rule : judged.rules) {
    double& raised = state_.raised.try_emplace(rule, 1).first->second;
    raised = std::min(raised * rule_set_.policy.raise, rule_set_.policy.most_raised);
  }
  return true;
}

void Policy::SetDiagnosis(std::int64_t id, const std::string& name) {
  for (Unjudged& each : state_.unjudged) {
    if (each.id == id) each.diagnosis = name;
  }
}

}  // namespace galen::watch::detection
