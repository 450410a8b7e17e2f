#ifndef SERVICES_WATCH_EARLY_WARNING_DETECTION_POLICY_H_
#define SERVICES_WATCH_EARLY_WARNING_DETECTION_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "services/watch/early_warning/detection/rules.h"

namespace galen::watch::detection {

// The place of a sign. "": unknown, or not that specific.
struct Where {
  std::string node;
  std::string device;
  std::string job;
  std::string network;  // the switch or rail that connects a node

  bool operator==(const Where& other) const = default;
};

// A sign, with names in place of numbers.
struct Notice {
  std::string rule;
  Where where;
  double score = 0;
  double value = 0;
  double expected = 0;
  absl::Time since;
};

// A cause, and the subjects that show it.
struct Alarm {
  std::int64_t id = 0;
  std::vector<Notice> notices;  // each rule and place once, the first one first
  absl::Time first;             // when it was first noticed
  absl::Time last;              // and last
  absl::Time told;              // InfinitePast: not yet
  double score = 0;             // the highest
};

// A reported alarm that people may still judge.
struct Unjudged {
  std::int64_t id = 0;
  std::vector<std::string> rules;
  std::string diagnosis;  // opened for it, once known
  absl::Time told;
};

// The policy's complete state, as a value, so that another instance can continue with it.
struct PolicyState {
  std::int64_t next_id = 1;
  std::vector<Alarm> alarms;
  std::vector<Unjudged> unjudged;        // of the last two weeks
  std::map<std::string, double> raised;  // of a rule's limit, by its name; 1 where there is none
  std::vector<absl::Time> false_alarms;  // of the last week
  absl::Time forgiven;                   // when `raised` was last reduced
  std::int64_t withheld = 0;             // alarms that the budget withheld, ever
};

// Decides which signs are reported: each cause once, nothing that was planned, and no more false
// alarms than the budget. A function of its state, the notices and the time; not thread-safe.
//
// - Signs that the rule_set's silences cover are ignored.
// - A cause is reported if a rule reaches its limit and stays there for `gather`; if the value
//   falls below `clear` of it meanwhile, it was a false alarm. Signs that join it by then (several
//   GPUs of a node, nodes of a switch, the job that they slow down) are reported with it; later
//   ones are not reported.
// - A reported cause is over if nothing of it was noticed for `rearm`; until then it is the same
//   one.
// - The stored causes have at most 2 MiB of names; further signs join none. If many are due in one
//   minute, some are reported in the next.
// - Each false alarm raises the limits of the rules that fired; half of that is forgotten in
//   `forgive`. When as many were false in a week as the budget has, signs below twice their limit
//   are withheld until they pass it. `withheld` counts them.
class Policy {
 public:
  // `rule_set` must outlive it.
  explicit Policy(const RuleSet& rule_set) : rule_set_(rule_set) {}
  Policy(const RuleSet& rule_set, PolicyState state)
      : rule_set_(rule_set), state_(std::move(state)) {}

  // The notices of one minute, from the least of the detectors on. Returns the alarms to report
  // now.
  std::vector<Alarm> Step(absl::Time now, absl::Span<const Notice> notices);

  // People's judgement of a reported alarm, by its id: false if it is unknown (or forgotten), or
  // was judged before.
  bool Judge(std::int64_t id, bool was_true, absl::Time now);

  void SetDiagnosis(std::int64_t id, const std::string& name);

  const PolicyState& state() const { return state_; }

 private:
  bool IsSilent(const Where& where, absl::Time now) const;
  double RaisedOf(const std::string& rule) const;
  bool Joins(const Alarm& alarm, const Notice& notice, absl::Time now) const;
  void Take(Alarm& alarm, const Notice& notice, absl::Time now);
  void Forgive(absl::Time now);

  const RuleSet& rule_set_;
  PolicyState state_;
  std::size_t bytes_ = 0;  // of the alarms' notices
};

}  // namespace galen::watch::detection

#endif  // SERVICES_WATCH_EARLY_WARNING_DETECTION_POLICY_H_
