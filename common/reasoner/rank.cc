#include "common/reasoner/rank.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/reasoner/outlook.h"
#include "common/reasoner/wording.h"

namespace galen::reasoner {
namespace {

using knowledge::v1::Label;

// A share this small is not worth a search while another choice has strong evidence.
constexpr double kTinyShare = 0.01;
// Below this share a branch that only messages point to is not searched once a finding points
// elsewhere.
constexpr double kNegligibleShare = 0.005;

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
  const std::vector<std::string>& checks = knowledge.ChecksFor(leaf);
  for (const std::string& name : checks) seconds += CostSeconds(knowledge, name);
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
