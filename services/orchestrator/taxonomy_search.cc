#include "services/orchestrator/taxonomy_search.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/orchestrator/search_steps.h"

namespace galen::orchestrator {
namespace {

Decision LeaveBranch(const std::string& label, bool early_stop, absl::string_view reason) {
  Decision decision;
  v1::BranchLeft& left = *decision.events.emplace_back().mutable_branch_left();
  left.set_label(label);
  left.set_early_stop(early_stop);
  left.set_reason(std::string(reason));
  return decision;
}

// Deeper than any taxonomy that people can read: ends a search that invents labels for ever.
constexpr std::size_t kMaxDepth = 12;

// Ranks the branches below `label` again when a cause was confirmed since they were ranked and some
// are still to be searched: that cause may explain all that spoke for them.
Decision RankAgain(const State& state, const std::string& label, const std::string& what,
                   const std::vector<const v1::RankedChild*>& branches) {
  const Round& round = state.round;
  const auto known = round.known_causes.find(label);
  if (known == round.known_causes.end() || known->second >= round.confirmed) return {};
  bool waiting = false;
  for (const v1::RankedChild* branch : branches) {
    if (round.left.count(branch->label()) > 0) continue;
    if (round.rankings.count(branch->label()) > 0) return {};  // the search is in there
    waiting = true;
  }
  if (!waiting) return {};
  Effect rank = MakeEffect(state, Effect::Kind::kRank, absl::StrCat(what, "+", round.confirmed));
  rank.label = label;
  return Call(state, std::move(rank), /*answered=*/false);
}

// The depth-first search below an inner label. `path` holds the labels above: a taxonomy that
// loops back into them, from whichever planner, is not followed.
Decision SearchBelow(const State& state, const std::string& label, Checks checks,
                     std::set<std::string>& path) {
  const Round& round = state.round;
  if (round.left.count(label) > 0 || !path.insert(label).second) return {};
  if (path.size() > kMaxDepth) {
    path.erase(label);
    return LeaveBranch(label, /*early_stop=*/true, "it lies too deep in the taxonomy");
  }
  const std::string what = label.empty() ? std::string(kRootBatch) : label;

  const auto ranking = round.rankings.find(label);
  if (ranking == round.rankings.end()) {
    Effect rank = MakeEffect(state, Effect::Kind::kRank, what);
    rank.label = label;
    if (CallFailedForGood(state, rank.id)) {
      return LeaveBranch(label, /*early_stop=*/true, "planning gave no ranking");
    }
    return Call(state, std::move(rank), /*answered=*/false);
  }

  std::vector<std::string> leaves;
  std::vector<const v1::RankedChild*> branches;
  for (const v1::RankedChild& child : ranking->second.children()) {
    if (child.pruned()) continue;
    if (child.leaf()) {
      leaves.push_back(child.label());
    } else {
      branches.push_back(&child);
    }
  }
  if (leaves.empty() && branches.empty()) {
    return LeaveBranch(label, /*early_stop=*/true, "none of its children is relevant");
  }

  if (Decision decision = TestHypotheses(state, what, leaves, checks); !decision.empty())
    return decision;
  if (Decision decision = RankAgain(state, label, what, branches); !decision.empty()) {
    return decision;
  }
  for (const v1::RankedChild* branch : branches) {
    if (round.left.count(branch->label()) > 0 || path.count(branch->label()) > 0) continue;
    const std::vector<std::string> guides(branch->checks().begin(), branch->checks().end());
    // Once the branch is ranked its checks have run; new nodes do not call them back.
    if (checks == Checks::kRun && round.rankings.count(branch->label()) == 0) {
      Decision decision = RunChecks(state, absl::StrCat("below-", branch->label()), guides, {});
      if (!decision.empty()) return decision;
    }
    if (Decision decision = SearchBelow(state, branch->label(), checks, path); !decision.empty()) {
      return decision;
    }
  }
  path.erase(label);
  return LeaveBranch(label, /*early_stop=*/false, "searched");
}

}  // namespace

Decision SearchTaxonomy(const State& state, Checks checks) {
  std::set<std::string> path;
  return SearchBelow(state, "", checks, path);
}

}  // namespace galen::orchestrator
