#include "services/node/checks/system/firewall.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "re2/re2.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/flag.h"

namespace galen::node {
namespace {

// Chains within chains beyond which nobody's rules go; what is deeper is not known.
constexpr int kMostDepth = 32;

// Of the new connections that are asked about, those that a rule takes.
enum class Takes { kNone, kSome, kAll };

struct Rule {
  Takes takes = Takes::kAll;
  std::string target;   // empty for a rule that only counts
  bool returns = true;  // behind a chain without a decision the next rule follows: not for -g
};

// "22", "1024:65535", "1024:", or of multiport a list of such: whether one of them holds `all`.
bool Holds(absl::string_view ports, const PortRange& all) {
  for (const absl::string_view part : absl::StrSplit(ports, ',')) {
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(part, absl::MaxSplits(':', 1));
    const bool range = absl::StrContains(part, ':');
    PortRange one = {0, 65535};
    if (!(range && ends.first.empty()) && !absl::SimpleAtoi(ends.first, &one.low)) continue;
    if (!range) one.high = one.low;
    if (!ends.second.empty() && !absl::SimpleAtoi(ends.second, &one.high)) continue;
    if (one.low <= all.low && one.high >= all.high) return true;
  }
  return false;
}

bool IsModuleThatTakesAll(absl::string_view name) {
  return name == "tcp" || name == "state" || name == "conntrack" || name == "comment" ||
         name == "multiport" || name == "addrtype";
}

// What the match `word` takes, with `value` behind it.
Takes TakenBy(absl::string_view word, absl::string_view value, bool negated,
              const PortRange& high) {
  const auto all_or_none = [&](bool matches) {
    return matches != negated ? Takes::kAll : Takes::kNone;
  };
  if (word == "-p") return all_or_none(value == "tcp" || value == "all" || value == "6");
  if (word == "-m") return IsModuleThatTakesAll(value) ? Takes::kAll : Takes::kSome;
  if (word == "--state" || word == "--ctstate") {
    const std::vector<absl::string_view> states = absl::StrSplit(value, ',');
    return all_or_none(std::find(states.begin(), states.end(), "NEW") != states.end());
  }
  // One port too few, and a library that takes any free port is turned away at times.
  if (word == "--dport" || word == "--dports") {
    return !negated && Holds(value, high) ? Takes::kAll : Takes::kNone;
  }
  // New connections to INPUT are for an address of this machine.
  if (word == "--dst-type") return all_or_none(value == "LOCAL");
  if (word == "-i" && value == "lo") return all_or_none(false);
  return Takes::kSome;
}

Rule ParseRule(absl::string_view line, const PortRange& high) {
  // The text of a comment, which may hold anything; and how --syn is printed.
  static const RE2 comment(R"re( --comment (?:"(?:[^"\\]|\\.)*"|\S+))re");
  static const RE2 syn(R"re( --tcp-flags FIN,SYN,RST,ACK SYN\b)re");
  std::string plain(line);
  RE2::GlobalReplace(&plain, comment, "");
  RE2::GlobalReplace(&plain, syn, "");
  const std::vector<absl::string_view> words = Words(plain);
  Rule rule;
  bool negated = false;
  for (std::size_t i = 2; i < words.size(); ++i) {  // behind "-A CHAIN"
    const absl::string_view word = words[i];
    if (word == "!") {
      negated = true;
      continue;
    }
    const absl::string_view value = i + 1 < words.size() ? words[i + 1] : "";
    if (word == "-j" || word == "-g") {
      rule.target = std::string(value);
      rule.returns = word == "-j";
      break;  // what follows are the target's own options
    }
    rule.takes = std::min(rule.takes, TakenBy(word, value, negated, high));
    negated = false;
    // A match of several values, as a set's name and direction: only some are taken anyhow.
    if (i + 1 < words.size() && !absl::StartsWith(value, "-") && value != "!") ++i;
  }
  return rule;
}

// The filter table: its chains' rules, and INPUT's policy.
struct Filter {
  absl::flat_hash_map<std::string, std::vector<Rule>> chains;
  std::optional<bool> policy;
};

Filter ParseFilter(absl::string_view iptables_save, const PortRange& high) {
  Filter filter;
  bool inside = true;
  for (const absl::string_view line : Lines(iptables_save)) {
    if (absl::StartsWith(line, "*")) inside = line == "*filter";
    if (!inside) continue;
    const std::vector<absl::string_view> words = absl::StrSplit(line, absl::MaxSplits(' ', 2));
    if (absl::StartsWith(line, ":")) {
      filter.chains.try_emplace(words[0].substr(1));
      if (words[0] == ":INPUT") filter.policy = words.size() > 1 && words[1] == "ACCEPT";
    } else if (words.size() > 1 && words[0] == "-A") {
      filter.chains[words[1]].push_back(ParseRule(line, high));
    }
  }
  return filter;
}

// What a chain does to the connections.
struct Passage {
  std::optional<bool> decided;  // what it does to all that no earlier rule let in
  bool lets_some_in = false;    // that a rule before lets some in
};

class Walk {
 public:
  explicit Walk(const Filter& filter) : filter_(filter) {}

  Passage Through(const std::string& chain, int depth) {
    const auto rules = filter_.chains.find(chain);
    // What is not listed, or too deep, may let anybody in.
    if (rules == filter_.chains.end() || depth > kMostDepth) return {std::nullopt, true};
    // Begun, so that a chain that leads to itself ends; each is walked once.
    const auto [known, first] = known_.try_emplace(chain);
    if (!first) return known->second;
    Passage passage;
    for (const Rule& rule : rules->second) {
      if (rule.takes == Takes::kNone || rule.target.empty()) continue;
      if (rule.target == "RETURN") {
        if (rule.takes == Takes::kAll) break;
        passage.lets_some_in = true;  // past the rest of this chain, be that as it may
        continue;
      }
      const Passage target = Of(rule.target, depth);
      if (rule.takes == Takes::kAll) passage.decided = target.decided;
      passage.lets_some_in |=
          target.lets_some_in || (rule.takes == Takes::kSome && target.decided.value_or(false));
      if (passage.decided.has_value() || (rule.takes == Takes::kAll && !rule.returns)) break;
    }
    known_[chain] = passage;
    return passage;
  }

 private:
  Passage Of(const std::string& target, int depth) {
    if (target == "ACCEPT") return {true, false};
    if (target == "DROP" || target == "REJECT") return {false, false};
    // Those of iptables itself that pass on what they saw, which are not listed as chains.
    static constexpr absl::string_view kPassOn[] = {"LOG",      "NFLOG",      "MARK",  "CONNMARK",
                                                    "SECMARK",  "SET",        "AUDIT", "TRACE",
                                                    "CHECKSUM", "CONNSECMARK"};
    if (std::find(std::begin(kPassOn), std::end(kPassOn), target) != std::end(kPassOn)) return {};
    return Through(target, depth + 1);
  }

  const Filter& filter_;
  absl::flat_hash_map<std::string, Passage> known_;
};

}  // namespace

std::optional<PortRange> ParsePortRange(absl::string_view text) {
  const std::vector<absl::string_view> ends = Words(text);
  PortRange range;
  if (ends.size() != 2 || !absl::SimpleAtoi(ends[0], &range.low) ||
      !absl::SimpleAtoi(ends[1], &range.high)) {
    return std::nullopt;
  }
  return range;
}

Input InputOf(absl::string_view iptables_save, const PortRange& high) {
  const Filter filter = ParseFilter(iptables_save, high);
  if (!filter.policy.has_value()) return Input::kNoChain;
  const Passage passage = Walk(filter).Through("INPUT", 0);
  if (passage.decided.value_or(*filter.policy)) return Input::kOpen;
  return passage.lets_some_in ? Input::kSome : Input::kClosed;
}

absl::StatusOr<CheckOutput> CheckFirewall(const CheckContext& context) {
  const std::string& node = context.host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "net.firewall"));
  GALEN_ASSIGN_OR_RETURN(const double low, data.Number("ephemeral_low"));
  GALEN_ASSIGN_OR_RETURN(const double high, data.Number("ephemeral_high"));
  GALEN_ASSIGN_OR_RETURN(const std::string text, Output(context.host, {"iptables-save"}));
  const auto range = FirstLine(context.host, "/proc/sys/net/ipv4/ip_local_port_range");
  const Input input = InputOf(text, (range.ok() ? ParsePortRange(*range) : std::nullopt)
                                        .value_or(PortRange{static_cast<std::int64_t>(low),
                                                            static_cast<std::int64_t>(high)}));
  CheckOutput output;
  std::optional<bool> open;
  switch (input) {
    case Input::kNoChain:
      output.message = "the rules name no INPUT chain";
      break;
    case Input::kOpen:
      open = true;
      output.message = "new connections to high ports are let in";
      break;
    case Input::kClosed:
      open = false;
      output.message = "new connections to high ports are turned away";
      break;
    case Input::kSome:
      output.message =
          "new connections to high ports are let in from some addresses or interfaces only: "
          "whether the job's nodes are among them is not known";
      break;
  }
  output.findings.push_back(FlagOrUnknown("restrictive_input", node,
                                          open.has_value() ? std::optional(!*open) : std::nullopt));
  output.findings.push_back(FlagOrUnknown("allows_ephemeral", node, open));
  output.excerpt = text;
  return output;
}

}  // namespace galen::node
