#ifndef SERVICES_WATCH_EARLY_WARNING_DETECTION_DETECTORS_H_
#define SERVICES_WATCH_EARLY_WARNING_DETECTION_DETECTORS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "services/watch/early_warning/detection/rules.h"

namespace galen::watch::detection {

// A fleet at one minute: all subjects of one kind, each at a slot that does not change.
struct Moment {
  std::int64_t minute = 0;  // since 1970
  // By slot: the group whose members behave alike, usually a job; negative: unknown.
  absl::Span<const std::int32_t> groups;
  // By slot, or empty: 1 during planned work, which raises no signs.
  absl::Span<const std::uint8_t> silent;
  // By Detectors::measures(), then by slot. Empty: not measured. NaN: unknown.
  std::vector<absl::Span<const float>> columns;
};

// A rule fired for a subject.
struct Sign {
  std::size_t rule = 0;  // in Detectors::rules()
  std::size_t slot = 0;
  float score = 0;         // of the rule's limit; the rule fires from 1 on
  float value = 0;         // as measured (growth: events a minute)
  float expected = 0;      // the value that it was compared with
  std::int64_t since = 0;  // minute at which the sum began to rise
};

// The rules of a rule_set about one kind of subject, minute by minute. The state of a subject has a
// fixed size: 24 bytes for each rule, and 140 more for one that looks for leaks. Pure; not
// thread-safe.
class Detectors {
 public:
  // Signs from `least` of a limit on are returned. A sum stops at `most` limits, so that it ends
  // soon after the fault; or at as many as the rule_set's policy may need, if that is more.
  struct Options {
    float least = 0.25F;
    float most = 4;
    std::size_t least_peers = 4;  // known beside it, below which `peers` rules do not apply
  };
  // `rule_set` must outlive it.
  Detectors(const RuleSet& rule_set, Of of, Options options);
  Detectors(const RuleSet& rule_set, Of of) : Detectors(rule_set, of, Options()) {}

  const std::vector<std::string>& measures() const { return measures_; }
  const std::vector<const Rule*>& rules() const { return rules_; }

  // Processes the next minute. Skipped minutes and quantities without a column are unknown; a
  // minute that is not later than the last one is ignored. A subject that works for another job
  // than before is reset. Returns the subjects that reached `least`, by rule and slot.
  std::vector<Sign> Step(const Moment& moment);

  // A subject is gone, and its slot may be reused.
  void Forget(std::size_t slot);

  // The state of a subject, to continue after a restart; empty if there is none. Restore() takes
  // the result of Save() from the same rule_set and kind, and the subject's group by its present
  // number: INVALID_ARGUMENT for anything else, and the subject is reset.
  std::vector<float> Save(std::size_t slot) const;
  absl::Status Restore(std::size_t slot, std::int32_t group, absl::Span<const float> saved);
  // Digest of the rules, their quantities and their order: numbers of other rules must not be
  // restored.
  std::uint64_t Digest() const;
  std::int64_t minute() const { return minute_; }
  void SetMinute(std::int64_t minute) { minute_ = minute; }

 private:
  struct State {
    float sum = 0;
    float habit = 0;
    std::int32_t since = 0;    // minutes since the sum left zero
    std::int32_t seen = 0;     // known minutes in this group, up to the number that matters
    std::int32_t unknown = 0;  // minutes in a row
  };
  // The lowest values of quarters of an hour.
  struct Floors {
    static constexpr std::size_t kMost = 32;
    float low[kMost] = {};
    std::int32_t size = 0;
    std::int32_t minutes = 0;
    float now = 0;
  };
  struct RuleState {
    const Rule* rule = nullptr;
    std::size_t measure = 0;
    std::size_t bound = 0;
    std::vector<std::size_t> given;  // columns
    std::vector<State> states;       // by slot
    std::vector<Floors> floors;      // by slot, of leaks
  };
  struct Subject {
    std::int32_t group = -1;
    std::int32_t in_group = 0;  // minutes
    bool known = false;
  };
  // For a column in which no value occurs twice.
  struct Freezing {
    std::size_t measure = 0;
    std::vector<float> last;
    std::vector<std::int32_t> same;
  };

  std::size_t Measure(const std::string& name);
  void Grow(std::size_t slots);
  void Regroup(const Moment& moment);
  void FindFrozen(const Moment& moment);
  void Quieten(const Moment& moment);
  void FindCommon(const std::vector<std::uint32_t>& group, std::vector<float>& common);
  bool Counts(const RuleState& each, const Moment& moment, std::size_t slot) const;
  void Fill(const RuleState& each, const Moment& moment);
  void StepPeers(RuleState& each, const Moment& moment, std::vector<Sign>& signs);
  void StepAlone(RuleState& each, const Moment& moment, std::vector<Sign>& signs);
  void StepGrowth(RuleState& each, const Moment& moment, std::vector<Sign>& signs);
  void StepLeak(RuleState& each, const Moment& moment, std::vector<Sign>& signs);
  void Unknown(State& state) const;
  void Unknown(RuleState& each) const;
  void Lose();
  void Tell(const RuleState& each, std::size_t slot, float value, float expected,
            std::vector<Sign>& signs) const;
  // Adds `excess` to the sum.
  void Add(const Rule& rule, float excess, State& state) const;

  Options options_;
  std::vector<std::string> measures_;
  std::vector<const Rule*> rules_;
  std::vector<RuleState> each_;
  std::vector<Freezing> freezing_;
  const int frozen_minutes_;

  std::int64_t minute_ = 0;
  std::int32_t passed_ = 1;  // minutes since the last step
  std::vector<Subject> subjects_;
  std::vector<std::uint8_t> frozen_;               // by slot, this minute
  std::vector<std::vector<std::uint32_t>> peers_;  // slots by group, as they were last
  std::vector<float> values_;  // scratch: of a rule by slot, NaN: does not count
  std::vector<float> sorted_;
};

}  // namespace galen::watch::detection

#endif  // SERVICES_WATCH_EARLY_WARNING_DETECTION_DETECTORS_H_
