#include "services/watch/early_warning/policy_state_codec.h"

#include <algorithm>
#include <cmath>

#include "common/base/proto_time.h"

namespace galen::watch::early_warning {
namespace {

constexpr double kMostRaised = 100;

double Finite(double number) { return std::isfinite(number) ? number : 0; }

}  // namespace

v1::EarlyState ToStored(const watch::detection::PolicyState& state) {
  v1::EarlyState stored;
  stored.set_next_id(state.next_id);
  for (const watch::detection::Alarm& alarm : state.alarms) {
    v1::EarlyState::Alarm& into = *stored.add_alarms();
    into.set_id(alarm.id);
    *into.mutable_first() = ToTimestamp(alarm.first);
    *into.mutable_last() = ToTimestamp(alarm.last);
    if (alarm.told != absl::InfinitePast()) *into.mutable_told() = ToTimestamp(alarm.told);
    into.set_score(alarm.score);
    for (const watch::detection::Notice& notice : alarm.notices) {
      v1::EarlyState::Notice& one = *into.add_notices();
      one.set_rule(notice.rule);
      one.set_node(notice.where.node);
      one.set_device(notice.where.device);
      one.set_job(notice.where.job);
      one.set_network(notice.where.network);
      one.set_score(notice.score);
      one.set_value(notice.value);
      one.set_expected(notice.expected);
      *one.mutable_since() = ToTimestamp(notice.since);
    }
  }
  for (const watch::detection::Unjudged& each : state.unjudged) {
    v1::EarlyState::Unjudged& into = *stored.add_unjudged();
    into.set_id(each.id);
    into.mutable_rules()->Assign(each.rules.begin(), each.rules.end());
    into.set_diagnosis(each.diagnosis);
    *into.mutable_told() = ToTimestamp(each.told);
  }
  for (const auto& [rule, raised] : state.raised) (*stored.mutable_raised())[rule] = raised;
  for (const absl::Time at : state.false_alarms) *stored.add_false_alarms() = ToTimestamp(at);
  *stored.mutable_forgiven() = ToTimestamp(state.forgiven);
  stored.set_withheld(state.withheld);
  return stored;
}

watch::detection::PolicyState FromStored(const v1::EarlyState& stored) {
  watch::detection::PolicyState state;
  state.next_id = std::max<std::int64_t>(1, stored.next_id());
  for (const v1::EarlyState::Alarm& from : stored.alarms()) {
    watch::detection::Alarm alarm;
    alarm.id = from.id();
    alarm.first = ToTime(from.first());
    alarm.last = ToTime(from.last());
    alarm.told = from.has_told() ? ToTime(from.told()) : absl::InfinitePast();
    alarm.score = Finite(from.score());
    for (const v1::EarlyState::Notice& one : from.notices()) {
      alarm.notices.push_back({one.rule(),
                               {one.node(), one.device(), one.job(), one.network()},
                               Finite(one.score()),
                               Finite(one.value()),
                               Finite(one.expected()),
                               ToTime(one.since())});
    }
    if (!alarm.notices.empty()) state.alarms.push_back(std::move(alarm));
  }
  for (const v1::EarlyState::Unjudged& from : stored.unjudged()) {
    state.unjudged.push_back({from.id(),
                              {from.rules().begin(), from.rules().end()},
                              from.diagnosis(),
                              ToTime(from.told())});
  }
  for (const auto& [rule, raised] : stored.raised()) {
    state.raised[rule] = std::isfinite(raised) ? std::clamp(raised, 1.0, kMostRaised) : 1;
  }
  for (const auto& at : stored.false_alarms()) state.false_alarms.push_back(ToTime(at));
  state.forgiven = ToTime(stored.forgiven());
  state.withheld = std::max<std::int64_t>(0, stored.withheld());
  return state;
}

}  // namespace galen::watch::early_warning
