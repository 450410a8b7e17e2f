#include "common/reasoner/rank.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/reasoner/belief.h"
#include "common/reasoner/wording.h"

namespace galen::reasoner {
namespace {

using knowledge::v1::Label;

// A share this small does not justify a search while another choice has this much.
constexpr double kTinyShare = 0.02;
constexpr double kLikely = 0.5;

void CollectLeaves(const knowledge::Knowledge& knowledge, const Label& label, int depth,
                   std::vector<const Label*>& leaves) {
  if (knowledge::IsLeaf(label)) {
    leaves.push_back(&label);
    return;
  }
  if (depth == 0) return;  // invalid knowledge may have a cycle
  for (const Label* child : knowledge.Children(label.label())) {
    CollectLeaves(knowledge, *child, depth - 1, leaves);
  }
}

// Maximum cost of all checks of a leaf that is cheap to check.
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
  double share = 0;  // the probability of its leaves, among that of all choices
  bool pointed_at = false;
  bool has_evidence = false;
  bool worth_a_look = false;     // a leaf below is not rare, or cheap to check
  const Belief* best = nullptr;  // of its likeliest leaf
  bool pruned = false;
  std::string reason;
};

Candidate Look(const Case& the_case, const Beliefs& beliefs, const std::string& name,
               size_t order) {
  constexpr int kMaxDepth = 8;
  Candidate candidate;
  candidate.label = name;
  candidate.order = order;
  const Label* label = the_case.knowledge.FindLabel(name);
  std::vector<const Label*> leaves;
  if (label != nullptr) CollectLeaves(the_case.knowledge, *label, kMaxDepth, leaves);
  candidate.leaves = leaves.size();
  for (const Label* leaf : leaves) {
    const Belief& belief = beliefs.Of(*leaf);
    candidate.share += beliefs.Probability(*leaf);
    const bool refuted = belief.IsOpposed() && !belief.HasEvidence();
    candidate.refuted += refuted ? 1 : 0;
    candidate.pointed_at = candidate.pointed_at || (!refuted && !belief.observations.empty());
    candidate.has_evidence = candidate.has_evidence || (!refuted && belief.HasEvidence());
    candidate.worth_a_look = candidate.worth_a_look || leaf->prior() == "high" ||
                             leaf->prior() == "medium" || IsCheap(the_case.knowledge, *leaf);
    if (candidate.best == nullptr ||
        beliefs.Probability(*leaf) > beliefs.Probability(*candidate.best->leaf)) {
      candidate.best = &belief;
    }
  }
  return candidate;
}

std::string WhyKept(const Case& the_case, const Candidate& candidate) {
  const std::string best = DescribeBest(the_case.knowledge, *candidate.best);
  if (!best.empty()) return absl::StrCat(candidate.best->leaf->title(), ": ", best);
  return "nothing points to it, but nothing rules it out and it is common or cheap to check";
}

// Sets pruned and reason.
void Decide(const Case& the_case, const std::vector<Candidate>& all, Candidate& candidate) {
  const bool other_is_likelier = std::any_of(
      all.begin(), all.end(), [](const Candidate& each) { return each.share >= kLikely; });
  candidate.pruned = true;
  if (candidate.leaves == 0) {
    candidate.reason = "no cause is known below it";
  } else if (candidate.refuted == candidate.leaves) {
    // The evidence exists already, and the report lists ruled-out causes with their evidence.
    candidate.pruned = false;
    candidate.reason = candidate.leaves == 1 ? "the checks so far speak against it"
                                             : absl::StrCat("the checks so far speak against all ",
                                                            candidate.leaves, " causes below it");
  } else if (other_is_likelier && candidate.share < kTinyShare && !candidate.has_evidence) {
    candidate.reason = "another one is far likelier";
  } else if (!candidate.pointed_at && !candidate.worth_a_look) {
    candidate.reason = "nothing points to it, it is rare, and its checks take long";
  } else {
    candidate.pruned = false;
    candidate.reason = WhyKept(the_case, candidate);
  }
}

}  // namespace

v1::RankAnswer Rank(const Case& the_case, const v1::RankQuestion& question) {
  const Beliefs beliefs(the_case);
  std::vector<Candidate> candidates;
  std::set<absl::string_view> seen;
  for (const v1::Choice& choice : question.choices()) {
    if (!seen.insert(choice.label()).second) continue;
    candidates.push_back(Look(the_case, beliefs, choice.label(), candidates.size()));
  }
  double total = 0;
  for (const Candidate& candidate : candidates) total += candidate.share;
  for (Candidate& candidate : candidates) {
    candidate.share =
        total > 0 ? candidate.share / total : 1.0 / static_cast<double>(candidates.size());
  }
  for (Candidate& candidate : candidates) Decide(the_case, candidates, candidate);
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    if (a.pruned != b.pruned) return b.pruned;
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
