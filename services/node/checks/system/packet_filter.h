#ifndef SERVICES_NODE_CHECKS_SYSTEM_PACKET_FILTER_H_
#define SERVICES_NODE_CHECKS_SYSTEM_PACKET_FILTER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace galen::node {

// Ports, both ends included.
struct PortRange {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

// The fate of a new TCP connection from another machine to a port of a range.
enum class Input {
  kNoChain,  // there is no chain for what comes in
  kOpen,     // it is let in
  kClosed,   // it is turned away, wherever it comes from
  kSome,     // it is turned away with exceptions by address, interface or set, or it is unknown
  kUnread,   // what was read lets it in; what else there may be was not read
};

// The part of the connections in question that a rule takes.
enum class Takes { kNone, kSome, kAll };

// "ACCEPT", "DROP", "REJECT" and "RETURN" are verdicts; other targets are chains, or what iptables
// itself knows.
struct FilterRule {
  Takes takes = Takes::kAll;
  std::string target;   // empty for a rule that only counts
  bool returns = true;  // behind a chain without a decision the next rule follows: not for -g
};

// A target whose verdict is unknown.
inline constexpr absl::string_view kUnjudged = "?";

using FilterChains = absl::flat_hash_map<std::string, std::vector<FilterRule>>;

// The effect of a chain on the connections.
struct Passage {
  std::optional<bool> decided;  // for all that no earlier rule let in
  bool lets_some_in = false;    // an earlier rule lets some in
  bool unjudged = false;        // the effect of an earlier rule is unknown
};

// Follows the rules of chains, each once. Takes time in the number of rules, whatever the chains.
class FilterWalk {
 public:
  explicit FilterWalk(const FilterChains& chains) : chains_(chains) {}

  Passage Through(const std::string& chain) { return Through(chain, 0); }

 private:
  Passage Through(const std::string& chain, int depth);
  Passage Of(const std::string& target, int depth);

  const FilterChains& chains_;
  absl::flat_hash_map<std::string, Passage> known_;
};

// The result of a passage through a chain with that policy.
inline Input InputOf(const Passage& passage, bool policy) {
  if (passage.decided.value_or(policy)) return passage.unjudged ? Input::kSome : Input::kOpen;
  return passage.lets_some_in ? Input::kSome : Input::kClosed;
}

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_PACKET_FILTER_H_
