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
#include "common/reasoner/outlook.h"
#include "common/reasoner/wording.h"

namespace galen::reasoner {
namespace {

using galen::v1::Hypothesis;
using knowledge::v1::Label;

// What asking and judging costs beside the checks themselves; keeps a free check from counting
// without end.
constexpr double kQuestionSeconds = 0.05;
// A check that only opposes a leaf, or speaks for it as context, carries this much of its belief:
// it cannot find it.
constexpr double kAsideShare = 0.1;
// What is left of a leaf's belief after a check that could have confirmed it saw nothing.
constexpr double kAfterNothing = 0.3;
// By how much more a leaf is believed once a check saw what one of its rules asks for, though that
// proves nothing yet: healthy machines have it too, or a condition is still to be told.
constexpr double kAfterASign = 4.0;
// Log-odds of the leaf that is described most like the incident; by how much less for the next
// ones, times the logarithm of their rank. Weaker than a decisive message, stronger than a strong
// one.
constexpr double kLikeness = 3.0;
constexpr double kLikenessByRank = 1.1;
// One step of checks takes about this long on each node, and holds none that is worth much less
// than its best.
constexpr double kStepSeconds = 1.0;
constexpr double kWorthBesideBest = 0.8;
// A search that has taken longer takes longer steps too: this share of what it took beyond may go
// to checks worth half of the best.
constexpr double kLongSearchSeconds = 5.0;
constexpr double kLongSearchShare = 0.2;
constexpr double kWorthAtAll = 0.5;
constexpr int kMostSuspects = 8;
// A check that is worth less is not run for its own sake: four minutes of such checks would confirm
// one cause at most.
constexpr double kLeastWorth = 1.0 / 250;

struct Suspect {
  const Label* leaf = nullptr;
  double probability = 0;
  double worth = 0;  // belief per second
  bool free = false;
  std::string reason;
};

class Screening {
 public:
  Screening(const Case& the_case, const v1::ScreenQuestion& question,
            absl::Span<const std::string> alike)
      : case_(the_case), outlooks_(the_case) {
    for (const Hypothesis& judged : question.judged()) {
      judged_.emplace(judged.label(), judged.status());
      if (judged.verdict().residual()) presumed_.insert(judged.label());
      if (judged.status() != Hypothesis::CONFIRMED) continue;
      confirmed_ = true;
      const Label* cause = the_case.knowledge.FindLabel(judged.label());
      if (cause == nullptr) continue;
      look_alikes_.insert(cause->confused_with().begin(), cause->confused_with().end());
    }
    for (size_t i = 0; i < alike.size(); ++i) {
      hints_.try_emplace(alike[i],
                         kLikeness - kLikenessByRank * std::log(static_cast<double>(i + 1)));
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
    const Outlook outlook = outlooks_.Of(leaf);
    const bool pointed_at = outlook.strong;
    double log_odds = outlook.log_odds;
    // The signals stand in the same texts: one hint, not two.
    if (const auto hint = hints_.find(leaf.label()); hint != hints_.end()) {
      log_odds += std::max(0.0, hint->second - outlook.said);
    }
    const double odds = std::exp(log_odds);
    double belief = odds / (1 + odds);

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
    // What was in doubt is judged again once the doubt is gone.
    const bool cleared = outlook.confirmed && presumed_.contains(leaf.label());
    if (judged && open.empty() && !cleared) return;
    const bool mentioned = outlook.signal != nullptr || !outlook.finding.empty();
    std::string reason = outlook.finding;
    if (reason.empty() && outlook.signal != nullptr) reason = Describe(*outlook.signal);
    // Beside a confirmed cause: another one that shows by itself.
    if (pointed_at && (!confirmed_ || outlook.specific)) {
      // What a finding confirms is judged next, whatever its other checks take.
      const double until = outlook.confirmed ? kQuestionSeconds : seconds;
      suspects_.push_back({&leaf, belief, belief / until, open.empty(), std::move(reason)});
    } else if (confirmed_ && !judged && outlook.refuted &&
               (mentioned || look_alikes_.contains(leaf.label()))) {
      // A report says what was ruled out by what is known. What is still open stays so: critique
      // may yet have it tested.
      if (reason.empty()) reason = "it is easily mistaken for the confirmed cause";
      known_.push_back({&leaf, belief, belief, true, std::move(reason)});
    }
    if (outlook.refuted) return;
    AddGains(leaf, belief, open);
  }

  void AddGains(const Label& leaf, double belief, const std::vector<std::string>& open) {
    absl::flat_hash_set<absl::string_view> finders;
    absl::flat_hash_set<absl::string_view> saw;  // checks that saw what a rule asks for
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

  // The rule's own finding is there, whatever its conditions.
  bool SeesIt(const knowledge::v1::Rule& rule) const {
    if (!asked_.contains(rule.check())) return false;
    return std::any_of(case_.evidence.nodes().begin(), case_.evidence.nodes().end(),
                       [&](const std::string& node) {
                         return SeesSign(case_.knowledge, rule, case_.evidence, node);
                       });
  }

  // That with the greatest worth of those that can confirm something; "" when there is none.
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
  const Outlooks outlooks_;
  absl::flat_hash_map<std::string, Hypothesis::Status> judged_;
  absl::flat_hash_set<std::string> presumed_;
  bool confirmed_ = false;
  absl::flat_hash_map<std::string, double> hints_;  // log-odds by how a leaf is described
  // In order: a sum over them rounds the same in every process.
  std::set<std::string, std::less<>> asked_;
  std::vector<Suspect> suspects_;
  std::vector<Suspect> known_;                     // to be judged without another check
  absl::flat_hash_set<std::string> look_alikes_;   // of confirmed causes
  absl::flat_hash_map<std::string, double> gain_;  // belief that each open check could move
  absl::flat_hash_set<std::string> finds_;         // open checks that can confirm something
};

}  // namespace

v1::ScreenAnswer Screen(const Case& the_case, const v1::ScreenQuestion& question,
                        absl::Span<const std::string> alike) {
  return Screening(the_case, question, alike).Answer();
}

}  // namespace galen::reasoner
