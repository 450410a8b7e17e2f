#include "services/node/checks/system/packet_filter.h"

#include <algorithm>
#include <iterator>

namespace galen::node {
namespace {

// The depth of nested chains that is followed; real rules do not go deeper.
constexpr int kMostDepth = 32;

}  // namespace

Passage FilterWalk::Through(const std::string& chain, int depth) {
  const auto rules = chains_.find(chain);
  // A chain that is not listed, or too deep, may let anybody in.
  if (rules == chains_.end() || depth > kMostDepth) return {.lets_some_in = true};
  // Begun, so that a chain that leads to itself ends; each is walked once.
  const auto [known, first] = known_.try_emplace(chain);
  if (!first) return known->second;
  Passage passage;
  for (const FilterRule& rule : rules->second) {
    if (rule.takes == Takes::kNone || rule.target.empty()) continue;
    if (rule.target == "RETURN") {
      if (rule.takes == Takes::kAll) break;
      passage.lets_some_in = true;  // past the rest of this chain, be that as it may
      continue;
    }
    const Passage target = Of(rule.target, depth);
    if (rule.takes == Takes::kAll) passage.decided = target.decided;
    passage.unjudged |= target.unjudged;
    passage.lets_some_in |=
        target.lets_some_in || (rule.takes == Takes::kSome && target.decided.value_or(false));
    if (passage.decided.has_value() || (rule.takes == Takes::kAll && !rule.returns)) break;
  }
  known_[chain] = passage;
  return passage;
}

Passage FilterWalk::Of(const std::string& target, int depth) {
  if (target == kUnjudged) return {.lets_some_in = true, .unjudged = true};
  if (target == "ACCEPT") return {.decided = true};
  if (target == "DROP" || target == "REJECT") return {.decided = false};
  // Those of iptables itself that pass on what they saw, which are not listed as chains.
  static constexpr absl::string_view kPassOn[] = {"LOG",      "NFLOG",      "MARK",  "CONNMARK",
                                                  "SECMARK",  "SET",        "AUDIT", "TRACE",
                                                  "CHECKSUM", "CONNSECMARK"};
  if (std::find(std::begin(kPassOn), std::end(kPassOn), target) != std::end(kPassOn)) return {};
  return Through(target, depth + 1);
}

}  // namespace galen::node
