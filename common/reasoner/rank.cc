#include "common/reasoner/rank.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/reasoner/wording.h"

namespace galen::reasoner {
namespace {

using galen::v1::Signal;
using galen::v1::Verdict;
using knowledge::v1::Label;

// Log-odds that signals and findings add to a leaf for the order of search. A signal proposes, so
// it weighs more here than in a verdict.
constexpr double kDecisive = 4.0;
constexpr double kStrong = 2.0;
constexpr double kWeak = 0.5;
constexpr double kShared = 3.0;
constexpr double kSpecific = 6.0;
constexpr double kRefuted = -4.0;
// A share this small is not worth a search while another choice has strong evidence.
constexpr double kTinyShare = 0.01;
// Below this share a branch that only messages point to is not searched once a finding points
// elsewhere.
constexpr double kNegligibleShare = 0.005;

double Weight(const Signal& signal) {
  double weight = kWeak;
  if (signal.strength() == galen::v1::DECISIVE) weight = kDecisive;
  if (signal.strength() == galen::v1::STRONG) weight = kStrong;
  const bool direct =
      signal.role() == galen::v1::PRIMARY || signal.role() == galen::v1::SIGNAL_ROLE_UNSPECIFIED;
  return direct ? weight : weight / 4;
}

// What the evidence so far says of one leaf.
struct Outlook {
  double log_odds = 0;
  const Signal* signal = nullptr;  // the weightiest
  std::string finding;             // the best sentence of a true confirm entry
  bool strong = false;             // a strong signal or an abnormal finding, not refuted
  bool compelling = false;         // a decisive signal or an abnormal finding, not refuted
  bool refuted = false;            // on every node where it could be told
};

class Outlooks {
 public:
  explicit Outlooks(const Case& the_case) : case_(the_case) {
    for (const Signal& signal : the_case.evidence.summary().signals()) {
      for (const std::string& label : signal.labels()) signals_[label].push_back(&signal);
    }
  }

  Outlook Of(const Label& leaf) const {
    Outlook outlook;
    outlook.log_odds = PriorLogOdds(leaf);
    AddSignals(leaf, outlook);
    const bool signalled = outlook.strong;
    AddFindings(leaf, outlook);
    const bool open = !outlook.refuted || !outlook.finding.empty();
    outlook.strong = outlook.strong && open;
    outlook.compelling = outlook.compelling && open;
    if (outlook.refuted && outlook.finding.empty()) {
      outlook.log_odds += kRefuted - (signalled ? kStrong : 0);
    }
    return outlook;
  }

 private:
  void AddSignals(const Label& leaf, Outlook& outlook) const {
    const auto it = signals_.find(leaf.label());
    if (it == signals_.end()) return;
    std::set<absl::string_view> counted;
    double heaviest = 0;
    for (const Signal* signal : it->second) {
      if (!counted.insert(signal->signal()).second) continue;
      const double weight = Weight(*signal);
      // Many weak words do not make a strong one.
      outlook.log_odds += counted.size() == 1 ? weight : weight / 2;
      outlook.strong = outlook.strong || weight >= kStrong;
      outlook.compelling = outlook.compelling || weight >= kDecisive;
      if (weight > heaviest) {
        heaviest = weight;
        outlook.signal = signal;
      }
    }
  }

  void AddFindings(const Label& leaf, Outlook& outlook) const {
    double best = 0;
    size_t rejected = 0;
    for (const std::string& node : case_.evidence.nodes()) {
      const Assessment assessment = Assess(case_, leaf, node);
      rejected += assessment.outcome == Verdict::REJECTED ? 1 : 0;
      for (const Supporting& each : assessment.supporting) {
        double weight = 0;
        if (each.support == Support::kShared) weight = kShared;
        if (each.support == Support::kSpecific) weight = kSpecific;
        if (weight <= best) continue;
        best = weight;
        outlook.finding = Describe(case_.knowledge, each.entry);
      }
    }
    outlook.log_odds += best;
    outlook.strong = outlook.strong || best > 0;
    outlook.compelling = outlook.compelling || best > 0;
    outlook.refuted = !case_.evidence.nodes().empty() && rejected == case_.evidence.nodes().size();
  }

  const Case& case_;
  absl::flat_hash_map<std::string, std::vector<const Signal*>> signals_;
};

void CollectLeaves(const knowledge::Knowledge& knowledge, const Label& label, int depth,
                   std::vector<const Label*>& leaves) {
  if (knowledge::IsLeaf(label)) {
    leaves.push_back(&label);
    return;
  }
  if (depth == 0) return;  // hostile knowledge may hold a cycle
  for (const Label* child : knowledge.Children(label.label())) {
    CollectLeaves(knowledge, *child, depth - 1, leaves);
  }
}

// All that the leaf asks for takes no longer than this.
constexpr double kCheapSeconds = 1.0;

bool IsCheap(const knowledge::Knowledge& knowledge, const Label& leaf) {
  double seconds = 0;
  const std::vector<std::string> checks = knowledge.ChecksFor(leaf);
  for (const std::string& name : checks) {
    const auto& cost = knowledge.FindCheck(name)->cost();
    seconds += static_cast<double>(cost.seconds()) + static_cast<double>(cost.nanos()) * 1e-9;
  }
  return !checks.empty() && seconds <= kCheapSeconds;
}

struct Candidate {
  std::string label;
  size_t order = 0;
  size_t leaves = 0;
  size_t refuted = 0;
  double weight = 0;  // sum of the odds of its leaves
  double share = 0;
  bool strong = false;
  bool compelling = false;
  // The same of leaves that are more than residual: only they let others be given up.
  bool strong_cause = false;
  bool compelling_cause = false;
  bool pointed_at = false;
  bool is_leaf = false;
  bool worth_a_look = false;  // a leaf below is not rare, or cheap to check
  Outlook best;
  std::string best_title;
  bool pruned = false;
  std::string reason;
};

Candidate Look(const Case& the_case, const Outlooks& outlooks, const std::string& name,
               size_t order) {
  constexpr int kMaxDepth = 8;
  Candidate candidate;
  candidate.label = name;
  candidate.order = order;
  const Label* label = the_case.knowledge.FindLabel(name);
  std::vector<const Label*> leaves;
  if (label != nullptr) CollectLeaves(the_case.knowledge, *label, kMaxDepth, leaves);
  candidate.leaves = leaves.size();
  candidate.is_leaf = label != nullptr && knowledge::IsLeaf(*label);
  for (const Label* leaf : leaves) {
    Outlook outlook = outlooks.Of(*leaf);
    candidate.weight += std::exp(outlook.log_odds);
    candidate.strong = candidate.strong || outlook.strong;
    candidate.pointed_at =
        candidate.pointed_at ||
        (!outlook.refuted && (outlook.signal != nullptr || !outlook.finding.empty()));
    candidate.refuted += outlook.refuted && !outlook.strong ? 1 : 0;
    candidate.compelling = candidate.compelling || outlook.compelling;
    if (!leaf->residual()) {
      candidate.strong_cause = candidate.strong_cause || outlook.strong;
      candidate.compelling_cause = candidate.compelling_cause || outlook.compelling;
    }
    candidate.worth_a_look = candidate.worth_a_look || leaf->prior() == "high" ||
                             leaf->prior() == "medium" || IsCheap(the_case.knowledge, *leaf);
    if (candidate.best_title.empty() || outlook.log_odds > candidate.best.log_odds) {
      candidate.best = std::move(outlook);
      candidate.best_title = leaf->title();
    }
  }
  return candidate;
}

std::string WhyKept(const Candidate& candidate) {
  if (!candidate.best.finding.empty()) {
    return absl::StrCat(candidate.best_title, ": ", candidate.best.finding);
  }
  if (candidate.best.signal != nullptr) {
    return absl::StrCat(candidate.best_title, ": ", Describe(*candidate.best.signal));
  }
  if (candidate.pointed_at) return "the texts mention it";
  return "nothing points to it, but nothing rules it out and it is common or cheap to check";
}

// Sets pruned and reason.
void Decide(const std::vector<Candidate>& all, Candidate& candidate) {
  // A whole branch is given up only for something that is nearly certain elsewhere.
  const bool other_is_better = std::any_of(all.begin(), all.end(), [&](const Candidate& each) {
    return (candidate.is_leaf ? each.strong_cause : each.compelling_cause) &&
           each.label != candidate.label;
  });
  // A failed check elsewhere accounts for what its victims say.
  const bool overshadowed = !candidate.compelling && candidate.share < kNegligibleShare &&
                            std::any_of(all.begin(), all.end(), [](const Candidate& each) {
                              return each.compelling_cause;
                            });
  candidate.pruned = true;
  if (candidate.leaves == 0) {
    candidate.reason = "no cause is known below it";
  } else if (candidate.strong && !overshadowed) {
    candidate.pruned = false;
    candidate.reason = WhyKept(candidate);
  } else if (candidate.refuted == candidate.leaves) {
    // The evidence is there already, and a report says what was ruled out by what.
    candidate.pruned = false;
    candidate.reason = candidate.leaves == 1 ? "the checks so far speak against it"
                                             : absl::StrCat("the checks so far speak against all ",
                                                            candidate.leaves, " causes below it");
  } else if (overshadowed) {
    candidate.reason = "only messages point to it, while a finding points elsewhere";
  } else if (other_is_better && !candidate.pointed_at) {
    candidate.reason = "no message and no finding points to it, while one points elsewhere";
  } else if (!candidate.pointed_at && !candidate.worth_a_look) {
    candidate.reason = "nothing points to it, it is rare, and its checks take long";
  } else if (other_is_better && candidate.share < kTinyShare) {
    candidate.reason = "only weak hints, while others have strong evidence";
  } else {
    candidate.pruned = false;
    candidate.reason = WhyKept(candidate);
  }
}

}  // namespace

v1::RankAnswer Rank(const Case& the_case, const v1::RankQuestion& question) {
  const Outlooks outlooks(the_case);
  std::vector<Candidate> candidates;
  std::set<absl::string_view> seen;
  for (const v1::Choice& choice : question.choices()) {
    if (!seen.insert(choice.label()).second) continue;
    candidates.push_back(Look(the_case, outlooks, choice.label(), candidates.size()));
  }
  double total = 0;
  for (const Candidate& candidate : candidates) total += candidate.weight;
  for (Candidate& candidate : candidates) {
    candidate.share =
        total > 0 ? candidate.weight / total : 1.0 / static_cast<double>(candidates.size());
  }
  for (Candidate& candidate : candidates) Decide(candidates, candidate);
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    if (a.pruned != b.pruned) return b.pruned;
    if (a.strong != b.strong) return a.strong;
    if (a.share != b.share) return a.share > b.share;
    return a.order < b.order;
  });
  v1::RankAnswer answer;
  for (const Candidate& candidate : candidates) {
    v1::RankAnswer::Ranked& ranked = *answer.add_ranked();
    ranked.set_label(candidate.label);
    ranked.set_probability(candidate.share);
    ranked.set_pruned(candidate.pruned);
    ranked.set_reason(candidate.reason);
  }
  return answer;
}

}  // namespace galen::reasoner
