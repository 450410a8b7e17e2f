#include "services/node/checks/system/firewall.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "re2/re2.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/flag.h"
#include "services/node/checks/system/nft_rules.h"
#include "services/node/checks/system/services.h"

namespace galen::node {
namespace {

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

// The connections that the match `word` with the argument `value` takes.
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

FilterRule ParseRule(absl::string_view line, const PortRange& high) {
  // The text of a comment, which may hold anything; and how --syn is printed.
  static const RE2 comment(R"re( --comment (?:"(?:[^"\\]|\\.)*"|\S+))re");
  static const RE2 syn(R"re( --tcp-flags FIN,SYN,RST,ACK SYN\b)re");
  std::string plain(line);
  RE2::GlobalReplace(&plain, comment, "");
  RE2::GlobalReplace(&plain, syn, "");
  const std::vector<absl::string_view> words = Words(plain);
  FilterRule rule;
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
  FilterChains chains;
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

// firewalld has its rules from nft, or in a chain of iptables that is read anyhow.
bool FirewalldRuns(const host::Host& host) {
  const auto units = ReadUnits(host);
  if (!units.ok()) return false;
  const auto unit = units->find("firewalld");
  return unit != units->end() && unit->second.active == "active";
}

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
  return InputOf(FilterWalk(filter.chains).Through("INPUT"), *filter.policy);
}

Input BothOf(std::optional<Input> iptables, std::optional<Input> nft) {
  for (const Input decides : {Input::kClosed, Input::kSome}) {
    if (iptables == decides || nft == decides) return decides;
  }
  if (!iptables.has_value() || !nft.has_value()) return Input::kUnread;
  return iptables == Input::kOpen ? Input::kOpen : *nft;
}

absl::StatusOr<CheckOutput> CheckFirewall(const CheckContext& context) {
  const std::string& node = context.host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "net.firewall"));
  GALEN_ASSIGN_OR_RETURN(const double low, data.Number("ephemeral_low"));
  GALEN_ASSIGN_OR_RETURN(const double high, data.Number("ephemeral_high"));
  const auto text = Output(context.host, {"iptables-save"});
  const auto ruleset = Output(context.host, {"nft", "list", "ruleset"});
  if (!text.ok() && !ruleset.ok()) {
    return IsAbsent(text.status()) ? ruleset.status() : text.status();
  }
  const auto line = FirstLine(context.host, "/proc/sys/net/ipv4/ip_local_port_range");
  const PortRange range =
      (line.ok() ? ParsePortRange(*line) : std::nullopt)
          .value_or(PortRange{static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)});
  std::optional<Input> iptables;
  if (text.ok()) iptables = InputOf(*text, range);
  if (IsAbsent(text.status())) iptables = Input::kNoChain;
  std::optional<Input> nft;
  if (ruleset.ok()) {
    nft = InputOfNft(*ruleset, range, iptables.value_or(Input::kNoChain) != Input::kNoChain);
  } else if (IsAbsent(ruleset.status()) && !FirewalldRuns(context.host)) {
    nft = Input::kNoChain;
  }
  const Input input = BothOf(iptables, nft);
  CheckOutput output;
  std::optional<bool> open;
  switch (input) {
    case Input::kNoChain:
      if (ruleset.ok()) open = true;
      output.message = "no rule is about what comes in";
      break;
    case Input::kUnread:
      output.message = absl::StrCat(
          text.ok() ? "iptables lets new connections to high ports in; the rules of nft"
                    : "nft lets new connections to high ports in; the rules of iptables",
          " were not read");
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
  output.excerpt = absl::StrCat(text.ok() ? *text : "", ruleset.ok() ? *ruleset : "");
  return output;
}

}  // namespace galen::node
