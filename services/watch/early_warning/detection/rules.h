#ifndef SERVICES_WATCH_EARLY_WARNING_DETECTION_RULES_H_
#define SERVICES_WATCH_EARLY_WARNING_DETECTION_RULES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace galen::watch::detection {

// The subject of a rule.
enum class Of { kGpu, kNode, kJob };
// The value that a measurement is compared with.
enum class Test {
  kPeers,   // the median of those that work for the same job, at the same minute
  kOwn,     // its own past
  kBound,   // another quantity: the model's clock, the lower end of a prediction
  kGrowth,  // a counter: its growth per minute, compared with the permitted growth
  kLeak,    // a share of a whole that approaches its end
};
absl::string_view ToString(Of of);
absl::string_view ToString(Test test);

// One entry of knowledge/warning. docs/warning.md explains its numbers. In short, a sum gathers the
// excess over the slack and loses the shortfall (Page, "Continuous inspection schemes", Biometrika
// 1954), and the rule fires when the sum reaches `limit`.
struct Rule {
  std::string name;
  std::string title;
  Of of = Of::kGpu;
  std::string measure;
  Test test = Test::kPeers;
  bool low = true;  // the bad direction
  std::string bound;
  // The minute counts only if these are known and at least this high (a GPU that works).
  struct Given {
    std::string measure;
    float least = 0;
  };
  std::vector<Given> given;
  // Relative differences, or for growth events a minute, up to which nothing counts.
  float slack = 0;
  // Neither do differences of up to this many spreads of the peers (peers).
  float noises = 0;
  // A constant difference of a subject is its own habit and does not count, up to this much.
  float habit = 0;
  // The most that one minute counts, in events or slacks (6 if it is 0), so that one burst is not
  // an alarm.
  float cap = 0;
  // Growth that half of the job sees as well is not attributed to the subject (congestion).
  bool beyond_peers = false;
  // Minutes at twice the slack; growth: events beyond the permitted ones; leak: hours to the end.
  float limit = 0;
  // Minutes at the beginning of a job that do not count. 0: the rule is about the device, and its
  // sum outlives the job.
  int warm_up = 10;
  std::vector<std::string> points_to;
  std::string source;
};

// With an exhausted budget a sign has to pass this multiple of its limit, whatever the limit was
// raised to.
inline constexpr double kBeyondDoubt = 2;

// How warnings are reported; see policy.h.
struct PolicyNumbers {
  double clear = 0.5;                             // share of a limit below which the sign has ended
  absl::Duration gather = absl::Minutes(2);       // signs meanwhile are the same cause
  absl::Duration together = absl::Minutes(30);    // and of the same job or switch
  absl::Duration rearm = absl::Hours(6);          // quiet for this long: it may be reported again
  double budget_per_week = 1;                     // false alarms, of all rules
  double raise = 1.25;                            // of a rule's limit, by each false alarm
  double most_raised = 3;                         // and no further; at most 10
  absl::Duration forgive = absl::Hours(24 * 28);  // in which half of that is forgotten

  // Limits that a sum has to be able to hold, so that clear signs can be reported however often the
  // rule was wrong.
  double MostNeeded() const { return kBeyondDoubt * most_raised + 0.5; }
};

// Minutes without reports, because of planned work: maintenance, restarts, tests. Empty names match
// all.
struct Silence {
  absl::Time from;
  absl::Time until;
  std::string node;
  std::string job;
  std::string reason;

  bool Covers(absl::string_view of_node, absl::string_view of_job, absl::Time at) const;
};

struct RuleSet {
  std::vector<Rule> rules;
  // Quantities for which the same value twice in a row, to the last bit, shows that the measurement
  // has stopped: after this many minutes the subject is unknown.
  std::vector<std::string> never_constant;
  int frozen_minutes = 5;
  std::vector<Silence> silences;
  PolicyNumbers policy;

  const Rule* Find(absl::string_view name) const;
};

// INVALID_ARGUMENT "file:line: problem; remedy". A rule replaces one of the same name in
// `rule_set`.
absl::Status AddRules(absl::string_view text, absl::string_view file, RuleSet& rule_set);
// All warning/*.yaml of the directories. NOT_FOUND if there is none.
absl::StatusOr<RuleSet> LoadRules(const std::vector<std::string>& directories);

}  // namespace galen::watch::detection

#endif  // SERVICES_WATCH_EARLY_WARNING_DETECTION_RULES_H_
