#include "common/reasoner/screen.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/reasoner/belief.h"
#include "common/reasoner/wording.h"

namespace galen::reasoner {
namespace {

using galen::v1::Hypothesis;
using knowledge::v1::Label;

// Overhead of a question and its verdicts, in addition to the checks; keeps the worth of a free
// check finite.
constexpr double kQuestionSeconds = 0.05;
// Share of a leaf's belief for a check that only opposes it, or supports it as context: such a
// check cannot find the cause.
constexpr double kAsideShare = 0.1;
// Factor for a leaf's belief after a check that could have confirmed it saw nothing.
constexpr double kAfterNothing = 0.3;
// Factor for a leaf's belief after a check saw the finding of one of its rules without proof:
// healthy machines have it too, or a condition is still unknown.
constexpr double kAfterASign = 4.0;
// Minimum weight (log-odds) of the evidence of a suspect from a machine or a log.
constexpr double kPointsAt = 2.0;
// One step of checks takes about this long on each node, and has no check that is worth much less
// than its best.
constexpr double kStepSeconds = 1.0;
constexpr double kWorthBesideBest = 0.8;
// A search beyond this time takes longer steps too: this share of the time beyond it may go to
// checks worth half of the best.
constexpr double kLongSearchSeconds = 5.0;
constexpr double kLongSearchShare = 0.2;
constexpr double kWorthAtAll = 0.5;
constexpr int kMostSuspects = 8;
// A check that is worth less is not run for its own sake: ten minutes of such checks would confirm
// one cause at most.
constexpr double kLeastWorth = 1.0 / 600;

struct Suspect {
  const Label* leaf = nullptr;
  double probability = 0;
  double worth = 0;  // belief per second
  bool free = false;
  std::string reason;
};

class Screening {
 public:
  Screening(const Case& the_case, const v1::ScreenQuestion& question)
      : case_(the_case), beliefs_(the_case) {
    for (const Hypothesis& judged : question.judged()) {
      judged_.emplace(judged.label(), judged.status());
      if (judged.status() != Hypothesis::CONFIRMED) continue;
      confirmed_ = true;
      const Label* cause = the_case.knowledge.FindLabel(judged.label());
      if (cause == nullptr) continue;
      look_alikes_.insert(cause->confused_with().begin(), cause->confused_with().end());
    }
    for (const auto* result : the_case.evidence.results()) asked_.insert(result->check());
  }

  v1::ScreenAnswer Answer() {
    for (const Label* leaf : case_.index.leaves()) Look(*leaf);
    const std::string best_check = BestCheck();
    std::stable_sort(suspects_.begin(), suspects_.end(),
                     [](const Suspect& a, const Suspect& b) { return a.worth > b.worth; });
    v1::ScreenAnswer answer;
    if (confirmed_ && suspects_.empty()) {
      AddKnown(answer);
      return answer;
    }
    const bool suspects_first = !suspects_.empty() && (confirmed_ || best_check.empty() ||
                                                       suspects_[0].worth >= Worth(best_check));
    if (suspects_first) {
      AddSuspects(answer);
    } else if (!confirmed_ && !best_check.empty() && Worth(best_check) >= kLeastWorth) {
      AddChecks(best_check, answer);
    }
    return answer;
  }

 private:
  double Cost(absl::string_view check) const { return CostSeconds(case_.knowledge, check); }

  double Worth(const std::string& check) const {
    return gain_.at(check) / (Cost(check) + kQuestionSeconds);
  }

  void Look(const Label& leaf) {
    const Belief& belief = beliefs_.Of(leaf);
    // By itself: as long as nothing is proven, a likely suspect does not reduce the worth of other
    // checks.
    const double odds = std::exp(belief.log_odds);
    const double probability = odds / (1 + odds);
    const bool refuted = belief.IsOpposed() && !belief.HasEvidence();
    const bool pointed_at = !refuted && PointsAt(belief);

    const std::vector<std::string>& checks = case_.knowledge.ChecksFor(leaf);
    std::vector<std::string> open;
    double seconds = kQuestionSeconds;
    for (const std::string& check : checks) {
      if (asked_.contains(check)) continue;
      open.push_back(check);
      seconds += Cost(check);
    }
    const auto verdict = judged_.find(leaf.label());
    const bool settled = verdict != judged_.end() && (verdict->second == Hypothesis::CONFIRMED ||
                                                      verdict->second == Hypothesis::REJECTED);
    if (settled) return;
    const bool judged = verdict != judged_.end();
    // An undecided leaf is judged again once it is proven.
    const bool proven = beliefs_.IsProven(leaf);
    if (judged && open.empty() && !proven) return;
    std::string reason = DescribeBest(case_.knowledge, belief);
    // With a confirmed cause: another cause with evidence of its own.
    if (proven || (pointed_at && !confirmed_)) {
      // A proven leaf is judged next, regardless of the cost of its other checks.
      const double until = proven ? kQuestionSeconds : seconds;
      suspects_.push_back(
          {&leaf, probability, probability / until, open.empty(), std::move(reason)});
    } else if (confirmed_ && !judged &&
               ((refuted && !reason.empty()) ||
                (look_alikes_.contains(leaf.label()) && (refuted || open.empty())))) {
      // The report names leaves that existing results rule out. Open leaves stay open: critique may
      // still have them tested.
      if (reason.empty()) reason = "it is easily mistaken for the confirmed cause";
      known_.push_back({&leaf, probability, probability, true, std::move(reason)});
    }
    if (refuted) return;
    AddGains(leaf, probability, open);
  }

  static bool PointsAt(const Belief& belief) {
    return std::any_of(belief.observations.begin(), belief.observations.end(),
                       [](const Observation& each) {
                         return each.witness != Witness::kPerson && each.weight >= kPointsAt;
                       });
  }

  void AddGains(const Label& leaf, double belief, const std::vector<std::string>& open) {
    absl::flat_hash_set<absl::string_view> finders;
    absl::flat_hash_set<absl::string_view> saw;  // checks that saw the finding of a rule
    for (const knowledge::v1::Rule& rule : leaf.confirm()) {
      if (SeesIt(rule)) saw.insert(rule.check());
      if (rule.context()) continue;
      finders.insert(rule.check());
      for (const knowledge::v1::Rule& with : rule.with()) {
        if (!with.check().empty()) finders.insert(with.check());
      }
    }
    if (!saw.empty()) belief = std::min(1.0, belief * kAfterASign);
    for (const absl::string_view finder : finders) {
      if (asked_.contains(finder) && !saw.contains(finder)) belief *= kAfterNothing;
    }
    for (const std::string& check : open) {
      const bool finds = finders.contains(check);
      gain_[check] += finds ? belief : belief * kAsideShare;
      if (finds) finds_.insert(check);
    }
  }

  // Whether the rule's own finding was seen, regardless of its conditions.
  bool SeesIt(const knowledge::v1::Rule& rule) const {
    if (!asked_.contains(rule.check())) return false;
    return std::any_of(case_.evidence.nodes().begin(), case_.evidence.nodes().end(),
                       [&](const std::string& node) {
                         return SeesSign(case_.knowledge, rule, case_.evidence, node);
                       });
  }

  // The check with the greatest worth that can confirm something; "": none.
  std::string BestCheck() const {
    std::string best;
    for (const auto& [check, gain] : gain_) {
      if (!finds_.contains(check)) continue;
      const bool better = best.empty() || Worth(check) > Worth(best) ||
                          (Worth(check) == Worth(best) && check < best);
      if (better) best = check;
    }
    return best;
  }

  void AddSuspects(v1::ScreenAnswer& answer) const {
    const double least = suspects_[0].worth * kWorthBesideBest;
    for (const Suspect& suspect : suspects_) {
      if (answer.suspects_size() == kMostSuspects) break;
      if (suspect.worth < least && !suspect.free) continue;
      v1::ScreenAnswer::Suspect& added = *answer.add_suspects();
      added.set_label(suspect.leaf->label());
      added.set_probability(suspect.probability);
      added.set_reason(suspect.reason);
    }
  }

  void AddKnown(v1::ScreenAnswer& answer) {
    std::stable_sort(known_.begin(), known_.end(),
                     [](const Suspect& a, const Suspect& b) { return a.worth > b.worth; });
    for (const Suspect& known : known_) {
      v1::ScreenAnswer::Suspect& added = *answer.add_suspects();
      added.set_label(known.leaf->label());
      added.set_probability(known.probability);
      added.set_reason(known.reason);
      added.set_as_known(true);
    }
  }

  void AddChecks(const std::string& best, v1::ScreenAnswer& answer) const {
    std::vector<std::string> checks(finds_.begin(), finds_.end());
    std::sort(checks.begin(), checks.end(), [&](const std::string& a, const std::string& b) {
      const double worth_a = Worth(a);
      const double worth_b = Worth(b);
      return worth_a != worth_b ? worth_a > worth_b : a < b;
    });
    double asked = 0;
    for (const std::string& check : asked_) asked += Cost(check);
    double seconds = 0;
    for (const std::string& check : checks) {
      if (Worth(check) < kLeastWorth) break;
      const double share = Worth(check) / Worth(best);
      const double longest =
          share < kWorthBesideBest ? (asked - kLongSearchSeconds) * kLongSearchShare : kStepSeconds;
      if (check != best && (share < kWorthAtAll || seconds + Cost(check) > longest)) continue;
      answer.add_checks(check);
      seconds += Cost(check);
    }
  }

  const Case& case_;
  const Beliefs beliefs_;
  absl::flat_hash_map<std::string, Hypothesis::Status> judged_;
  bool confirmed_ = false;
  // In order: a sum over them rounds the same in every process.
  std::set<std::string, std::less<>> asked_;
  std::vector<Suspect> suspects_;
  std::vector<Suspect> known_;                     // to be judged without another check
  absl::flat_hash_set<std::string> look_alikes_;   // of confirmed causes
  absl::flat_hash_map<std::string, double> gain_;  // belief that each open check could move
  absl::flat_hash_set<std::string> finds_;         // open checks that can confirm something
};

}  // namespace

v1::ScreenAnswer Screen(const Case& the_case, const v1::ScreenQuestion& question) {
  return Screening(the_case, question).Answer();
}

}  // namespace galen::reasoner
